// The public subpath `a2e/chains`: the plugin, and the table with its approval request.
export { chainLimits } from "./limits.ts";
export type { ChainsOptions } from "./options.ts";
export { chainsPlugin } from "./plugin.ts";
export { type ChainNode, type ChainProblem, chains } from "./protocol.ts";
