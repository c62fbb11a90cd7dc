// Tells the sessions that watch a plan what others did to it.
import type { Logger } from "../../host/logger.ts";
import type { Plan } from "./model.ts";
import type { ChangeRecord } from "./protocol.ts";
import type { PlanSpace } from "./storage/plan-space.ts";

/** A change that was written. `plan` is the row as it was where it was deleted or hidden, and as it is otherwise. */
export interface Note {
  readonly plan: Plan;
  readonly task_id: string;
  readonly record: ChangeRecord;
  /** For those only who see the plan by its being shared, which it was until now. */
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

  /** Whoever made the changes has the answer to their request, and is not told again. */
  tell(notes: readonly Note[], origin: Watcher): void {
    if (notes.length === 0) return;
    for (const watcher of this.#all) {
      if (watcher === origin) continue;
      try {
        tellOne(watcher, notes);
      } catch (error) {
        // What was changed is changed: that somebody else could not be told is no failure of whoever did it.
        this.#log.error("a session that watches a plan could not be told of a change", { error });
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
