// Notifies the sessions that watch a plan about changes by other sessions.
import type { Logger } from "../../plugin/logger.ts";
import type { Plan } from "./model.ts";
import type { ChangeRecord } from "./protocol.ts";
import type { PlanSpace } from "./storage/plan-space.ts";

/**
 * A change that was committed. `plan` is the row after the change, or the last row if the plan was deleted or hidden.
 */
export interface Note {
  readonly plan: Plan;
  readonly task_id: string;
  readonly record: ChangeRecord;
  /** Only for sessions of other agents, which could see the plan only because it was shared until now. */
  readonly isHiding?: boolean;
}

export interface Watcher {
  readonly watching: readonly string[];
  readonly space: PlanSpace;
  tell(note: Note): void;
}

export class Watchers {
  readonly #all = new Set<Watcher>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  add(watcher: Watcher): () => void {
    this.#all.add(watcher);
    return () => this.#all.delete(watcher);
  }

  /** Notifies all watchers but `origin`, which gets the answer to its request instead. */
  tell(notes: readonly Note[], origin: Watcher): void {
    if (notes.length === 0) return;
    for (const watcher of this.#all) {
      if (watcher === origin) continue;
      try {
        tellOne(watcher, notes);
      } catch (error) {
        // The change is committed, so the request must not fail if another session cannot be notified.
        this.#log.error("notifying a session about a change of a plan failed", { error });
      }
    }
  }
}

function tellOne(watcher: Watcher, notes: readonly Note[]): void {
  const { watching } = watcher;
  if (watching.length === 0) return;
  const { space } = watcher;
  for (const note of notes) {
    if (!watching.includes("") && !watching.includes(note.plan.plan_id)) continue;
    if (note.isHiding === true && note.plan.owner === space.viewer.owner) continue;
    if (space.isSeen(note.plan)) watcher.tell(note);
  }
}
