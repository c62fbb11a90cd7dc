// The public subpath `a2e/chains`: the plugin, the table with its question of approval.
export { chainLimits } from "./limits.ts";
export type { ChainsOptions } from "./options.ts";
export { chainsPlugin } from "./plugin.ts";
export { type ChainNode, type ChainProblem, chains } from "./protocol.ts";
