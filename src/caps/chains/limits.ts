// The limits of the chains capability with their defaults; the plugin's options override those that they name.
import { messageLimits } from "./protocol.ts";

export const chainLimits = {
  ...messageLimits,
  /** Nodes of one chain. */
  maxNodes: 2000,
  /** Nodes of one run that run at once, including items of its maps, unless the request asks for fewer. */
  maxParallel: 16,
  /** Items of one map. */
  maxItems: 10_000,
  /** Items of all maps of one run, those of maps within maps included. */
  maxRunItems: 100_000,
  /** Bytes of an output as JSON; a larger output is kept by the host and sent as a reference. */
  maxInlineBytes: 64 * 1024,
  /** Bytes of all outputs of an answer together; further outputs are sent as references. */
  maxAnswerBytes: 1024 * 1024,
  /** Bytes of large outputs that the host keeps for one session; the oldest are dropped first. */
  maxKeptBytes: 64 * 1024 * 1024,
  /** How long large outputs are kept. */
  keptDays: 7,
  /** Input or output of one node, as JSON. */
  maxValueBytes: 16 * 1024 * 1024,
  /** Steps that the expressions of one node, or of one item of a map, may take: one for each value read or created. */
  maxExpressionSteps: 1_000_000,
  /** Steps of a run before it yields to the event loop; a call counts as 100. */
  maxTurnSteps: 50_000,
  /**
   * Characters of a node's error text; maxErrorDetailBytes limits its detail. A map may have an error for each of very
   * many items.
   */
  maxErrorLength: 2000,
  maxErrorDetailBytes: 16 * 1024,
  /** Problems of one chain that are reported. */
  maxProblems: 100,
  /** Pairs of characters that are compared to find the suggestion for a misspelled name. */
  maxHintSteps: 2_000_000,
  /** Characters of all expressions of a chain; those of a node that several maps run count for each map. */
  maxExpressionsLength: 2 * 1024 * 1024,
  /** The longest delay before a retry. */
  maxRetryDelayMs: 60_000,
  /** Bytes of output of one process that a node collects. */
  maxProcBytes: 1024 * 1024,
  /** Compiled chains that are cached, for all sessions together. */
  maxPlans: 256,
  /** Bytes of a chain that is cached; larger chains are compiled each time. */
  maxPlanBytes: 256 * 1024,
  /** Events of a resumed run that are kept until its request is repeated. */
  maxMissedEvents: 1000,
  /** Answers of resumed runs that are kept for their agent, per session. */
  maxKeptAnswers: 64,
  /** Ancestors of a fork whose large outputs it can read. */
  maxAncestors: 64,
} as const satisfies Record<string, number>;
