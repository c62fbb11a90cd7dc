// The public subpath `a2e/memory`: the plugin, and the port for custom embedders.
export type { Embedder } from "./embedder.ts";
export { memoryLimits } from "./limits.ts";
export { type MemoryPluginOptions, memoryPlugin } from "./plugin.ts";
export { type MemoryEntry, memory, type NewMemoryEntry, type Tier } from "./protocol.ts";
