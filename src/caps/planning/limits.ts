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
  /** Plans that one session watches by name. */
  maxWatched: 1000,
  /** How long a claim lasts where the agent does not say. */
  leaseSeconds: 300,
  maxLeaseSeconds: 24 * 60 * 60,
} as const satisfies Record<string, number>;
