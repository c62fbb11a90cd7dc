// The limits of the chains capability with their defaults; the plugin's options override those that they name.
import { messageLimits } from "./protocol.ts";

export const chainLimits = {
  ...messageLimits,
  /** Nodes of one chain. */
  maxNodes: 2000,
  /** Nodes of one run that work at once, where the request does not say less. */
  maxParallel: 16,
  /** Items of one map. */
  maxItems: 10_000,
  /** An output that takes more as JSON is kept by the host and answered as a reference. */
  maxInlineBytes: 64 * 1024,
  /** All outputs of an answer together; those beyond are references as well. */
  maxAnswerBytes: 1024 * 1024,
  /** What the host keeps of large outputs for one session; the oldest go first. */
  maxKeptBytes: 64 * 1024 * 1024,
  /** How long it keeps them. */
  keptDays: 7,
  /** Output of one process that a node collects. */
  maxProcBytes: 1024 * 1024,
  /** Chains whose compiled form is remembered, for all sessions together. */
  maxPlans: 256,
  /** Answers of resumed runs that wait for their agent, per session. */
  maxKeptAnswers: 64,
} as const satisfies Record<string, number>;
