// The limits of the planning capability with their defaults. An option of the plugin overrides the limit of the same
// name.
import { messageLimits } from "./protocol.ts";

export const planningLimits = {
  ...messageLimits,
  /** Plans of one agent. */
  maxPlans: 1000,
  /** Tasks of one plan. */
  maxTasks: 5000,
  /** Length of a task's metadata as JSON. */
  maxMetadataLength: 16 * 1024,
  /** Changes stored per task; the oldest are dropped first. */
  maxHistory: 100,
  /** Values in the history are cut to this length, as JSON. */
  maxHistoryValueLength: 200,
  /** Tasks in one answer of `planning/plan/board`. */
  maxBoardTasks: 10_000,
  /** Bytes of plans or tasks in one answer. A single plan or task may be larger. */
  maxAnswerBytes: 4 * 1024 * 1024,
  /** Plans that one session may watch by id. */
  maxWatched: 1000,
  /** The duration of a claim if the request does not give one. */
  leaseSeconds: 300,
  maxLeaseSeconds: 24 * 60 * 60,
  /**
   * Plans of a fork, and private plans of an agent without a name, are deleted this long after their session was last
   * open.
   */
  forkIdleSeconds: 7 * 24 * 60 * 60,
  /** The same for a host without persistent storage. */
  transientForkIdleSeconds: 60 * 60,
  /** Time between two searches for such plans. */
  collectIntervalMs: 60_000,
} as const satisfies Record<string, number>;
