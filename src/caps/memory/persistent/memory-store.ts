// The port for the storage of the persistent tiers.
import type { Conditions, Draft, Found, Search, WriteOutcome } from "../entry.ts";

/** Identifies a memory. The fields may be any strings; a store must never confuse two different spaces. */
export interface Space {
  readonly tier: "episodic" | "semantic";
  /** The owner in the episodic tier; empty in the semantic tier, which is shared. */
  readonly owner: string;
  readonly namespace: string;
  /** Canonical JSON. */
  readonly scope: string;
}

/** A space as one session sees it: above it are the overlays of its ancestors and its own, oldest first. */
export interface View {
  readonly space: Space;
  readonly overlays: readonly string[];
}

/** Synchronous, so that changes are written in the turn in which the request is answered. Times are in seconds. */
export interface MemoryStore {
  /**
   * Stores each draft completely or not at all, in order, and returns one outcome per draft. `agent` is charged if the
   * space is created.
   */
  store(view: View, drafts: readonly Draft[], agent: string, now: number): WriteOutcome[];
  /** Never returns expired entries, nor more than fit into an answer. Asynchronous only if vectors are compared. */
  find(view: View, search: Search, now: number): Found | Promise<Found>;
  /** Returns the number of deleted entries. */
  forget(view: View, conditions: Conditions, now: number): number;
  /** Deletes some expired entries and returns whether there are more. */
  collect(now: number): boolean;
}
