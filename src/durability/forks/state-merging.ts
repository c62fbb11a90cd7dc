// Merges the state of a fork into the state that it was forked from, key by key.
import type { LayeredState } from "../../machinery/state/layered-state.ts";
import { localPrefix, type SessionState } from "../../plugin/session-state.ts";
import type { JsonValue } from "../../protocol/json.ts";

export interface MergeOutcome {
  /** How many keys were changed in the parent. */
  merged: number;
  /** Keys that parent and fork have both changed: the parent keeps its value. */
  conflicts: string[];
}

/** Under this prefix and the key, a fork keeps the value it last merged in a list; the list is empty for a deleted key. */
const mergedPrefix = `${localPrefix}merged/`;

/**
 * Applies the changes of a fork to its parent. A key is a conflict if the parent has changed it as well: its value in the
 * parent is neither the value at the time of the fork nor the value that was merged last.
 */
export function mergeState(target: SessionState, fork: LayeredState): MergeOutcome {
  const conflicts: string[] = [];
  let merged = 0;
  const changes = [...fork.changesSinceFork()];
  // Only marks that the fork has set itself: inherited marks are about the parent and the parent's own parent.
  const marks = changes.filter(({ key }) => key.startsWith(mergedPrefix));
  const lastMerged = new Map(marks.map(({ key, after }) => [key, after as JsonValue[] | undefined]));
  for (const { key, before, after } of changes) {
    if (key.startsWith(localPrefix)) continue;
    const now = target.get(key);
    if (isSame(now, after)) continue;
    const last = lastMerged.get(`${mergedPrefix}${key}`);
    if (!isSame(now, before) && !(last !== undefined && isSame(now, last[0]))) {
      conflicts.push(key);
      continue;
    }
    if (after === undefined) target.delete(key);
    else target.set(key, after);
    fork.set(`${mergedPrefix}${key}`, after === undefined ? [] : [after]);
    merged += 1;
  }
  return { merged, conflicts };
}

export function isSame(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
