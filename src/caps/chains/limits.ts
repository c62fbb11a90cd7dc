// The limits of the chains capability with their defaults; the plugin's options override those that they name.
import { messageLimits } from "./protocol.ts";

export const chainLimits = {
  ...messageLimits,
  /** Nodes of one chain. */
  maxNodes: 2000,
  /** Nodes of one run that work at once, items of its maps included, where the request does not say less. */
  maxParallel: 16,
  /** Items of one map. */
  maxItems: 10_000,
  /** Items of all maps of one run, those of maps within maps included. */
  maxRunItems: 100_000,
  /** An output that takes more as JSON is kept by the host and answered as a reference. */
  maxInlineBytes: 64 * 1024,
  /** All outputs of an answer together; those beyond are references as well. */
  maxAnswerBytes: 1024 * 1024,
  /** What the host keeps of large outputs for one session; the oldest go first. */
  maxKeptBytes: 64 * 1024 * 1024,
  /** How long it keeps them. */
  keptDays: 7,
  /** Input or output of one node, as JSON. */
  maxValueBytes: 16 * 1024 * 1024,
  /** What the expressions of one node, or for one item of a map, may take: a step for each thing looked at or made. */
  maxExpressionSteps: 1_000_000,
  /** The same for all that a run does before others have their turn; a call counts as 100. */
  maxTurnSteps: 50_000,
  /** Characters of what a node failed with, and bytes of its detail: there may be an error for each of very many items. */
  maxErrorLength: 2000,
  maxErrorDetailBytes: 16 * 1024,
  /** Problems of one chain that are told: whoever has this many will not read more. */
  maxProblems: 100,
  /** Pairs of letters that are compared to find out what a wrong name of a chain may have meant. */
  maxHintSteps: 2_000_000,
  /** Characters of all expressions of a chain; those of a node that maps run count for each map. */
  maxExpressionsLength: 2 * 1024 * 1024,
  /** The longest pause before a node is tried again. */
  maxRetryDelayMs: 60_000,
  /** Output of one process that a node collects. */
  maxProcBytes: 1024 * 1024,
  /** Chains whose compiled form is remembered, for all sessions together. */
  maxPlans: 256,
  /** Larger chains are compiled each time. */
  maxPlanBytes: 256 * 1024,
  /** Events of a resumed run that wait for the request to come again. */
  maxMissedEvents: 1000,
  /** Answers of resumed runs that wait for their agent, per session. */
  maxKeptAnswers: 64,
  /** Sessions that a fork comes from, one of another, whose large outputs it reads. */
  maxAncestors: 64,
} as const satisfies Record<string, number>;
