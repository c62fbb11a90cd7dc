// The port behind which the persistent tiers are kept.
import type { Conditions, Draft, Found, Search, WriteOutcome } from "../entry.ts";

/** Whose memory it is and which. Texts of any kind: no two different ones may ever be taken for each other. */
export interface Space {
  readonly tier: "episodic" | "semantic";
  /** The agent in the episodic tier; empty in the semantic one, which all share. */
  readonly owner: string;
  readonly namespace: string;
  /** Canonical JSON. */
  readonly scope: string;
}

/** A space as one session sees it: what its fork and those that it was forked from wrote lies above it, oldest first. */
export interface View {
  readonly space: Space;
  readonly overlays: readonly string[];
}

/** Synchronous, so that what a request changes is written in the turn in which it is answered. Times in seconds. */
export interface MemoryStore {
  /** Stores each draft wholly or not at all, in order; one outcome for each. `agent` is who begins the space. */
  store(view: View, drafts: readonly Draft[], agent: string, now: number): WriteOutcome[];
  /** Never finds what has expired, and no more than an answer carries. Later only where vectors are compared. */
  find(view: View, search: Search, now: number): Found | Promise<Found>;
  /** How many entries were deleted. */
  forget(view: View, conditions: Conditions, now: number): number;
  /** Deletes some of what has expired; whether there is more. */
  collect(now: number): boolean;
}
