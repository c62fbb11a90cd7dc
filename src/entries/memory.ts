// The public subpath `a2e/memory`: the plugin, and the port for embedders of one's own.
export type { Embedder } from "../caps/memory/embedder.ts";
export { memoryLimits } from "../caps/memory/limits.ts";
export { type MemoryPluginOptions, memoryPlugin } from "../caps/memory/plugin.ts";
export { type MemoryEntry, memory, type NewMemoryEntry, type Tier } from "../caps/memory/protocol.ts";
