// The limits of the planning capability with their defaults; the plugin's options override those that they name.
import { messageLimits } from "./protocol.ts";

export const planningLimits = {
  ...messageLimits,
  /** Plans of one agent. */
  maxPlans: 1000,
  /** Tasks of one plan. */
  maxTasks: 5000,
  /** Length of a task's metadata as JSON. */
  maxMetadataLength: 16 * 1024,
  /** Changes remembered per task; the oldest go first. */
  maxHistory: 100,
  /** Values in the history are cut at this length, as JSON. */
  maxHistoryValueLength: 200,
  /** Tasks in one answer of board. */
  maxBoardTasks: 10_000,
  /** Bytes of plans or tasks in one answer; a single larger one goes out. */
  maxAnswerBytes: 4 * 1024 * 1024,
  /** Plans that one session watches by name. */
  maxWatched: 1000,
  /** How long a claim lasts where the agent does not say. */
  leaseSeconds: 300,
  maxLeaseSeconds: 24 * 60 * 60,
  /** What a fork wrote, and private plans of an agent without a name, are kept for this long after they were last open. */
  forkIdleSeconds: 7 * 24 * 60 * 60,
  /** The same where the host keeps nothing beyond its own life. */
  transientForkIdleSeconds: 60 * 60,
  /** How often the host looks for what was left behind. */
  collectIntervalMs: 60_000,
} as const satisfies Record<string, number>;
