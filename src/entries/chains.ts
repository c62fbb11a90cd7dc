// The public subpath `a2e/chains`: the plugin, the table with its question of approval.
export { chainLimits } from "../caps/chains/limits.ts";
export type { ChainsOptions } from "../caps/chains/options.ts";
export { chainsPlugin } from "../caps/chains/plugin.ts";
export { type ChainNode, type ChainProblem, chains } from "../caps/chains/protocol.ts";
