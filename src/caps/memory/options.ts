// The options of the memory plugin, spelled as in a config file.
import * as z from "zod";
import { parsePluginOptions, pluginEntryFields } from "../../machinery/options/plugin-options.ts";
import { memoryLimits } from "./limits.ts";

const onFull = z.enum(["evict", "refuse"]);

function tierOptions(maxEntries: number, maxBytes: number, standard: z.output<typeof onFull>) {
  return z
    .strictObject({
      max_entries: z.int().min(1).default(maxEntries).describe("Entries of one memory."),
      max_bytes: z
        .int()
        .min(1024)
        .default(maxBytes)
        .describe("Bytes of the entries of one memory: contents, keys, tags and sources."),
      on_full: onFull.default(standard).describe("Beyond the limits the oldest goes, or the new entry is refused."),
    })
    .prefault({});
}

/** @public The generator writes the reference page from it. */
export const optionsSchema = z.strictObject({
  working: tierOptions(memoryLimits.maxWorkingEntries, memoryLimits.maxWorkingBytes, "evict").describe(
    "The tier of a session; evicts what was used least recently.",
  ),
  episodic: tierOptions(memoryLimits.maxEpisodicEntries, memoryLimits.maxEpisodicBytes, "evict").describe(
    "The tier of an agent; evicts what happened first.",
  ),
  semantic: tierOptions(memoryLimits.maxSemanticEntries, memoryLimits.maxSemanticBytes, "refuse").describe(
    "The tier that a namespace shares.",
  ),
  max_entry_bytes: z.int().min(1).default(memoryLimits.maxEntryBytes).describe("Content of one entry, as JSON."),
  max_results: z.int().min(1).default(memoryLimits.maxResults).describe("Entries that one answer carries."),
  max_memories: z.int().min(1).default(memoryLimits.maxMemories).describe("Memories that one session initialises."),
  max_spaces_per_agent: z
    .int()
    .min(1)
    .default(memoryLimits.maxSpacesPerAgent)
    .describe("Memories in the persistent tiers that one agent begins."),
  tokenizer: z
    .enum(["unicode61", "porter"])
    .default("unicode61")
    .describe(
      "How text is cut into words; porter also finds other forms of English ones. For memories begun from now on.",
    ),
  namespaces: z
    .record(
      z.string().min(1),
      z.strictObject({
        access: z.enum(["shared", "read_only", "private"]).default("shared"),
        owners: z.array(z.string().min(1)).default([]).describe("Ids of the agents that keep their rights."),
      }),
    )
    .default({})
    .describe("Who may use the semantic tier of a namespace; `*` is the rule for all that have none."),
  embedder: z.enum(["none", "local"]).default("none").describe("What makes vectors of texts in the semantic tier."),
  vector_weight: z.number().min(0).max(1).default(0.7).describe("Share of the vectors in a score; the rest is words."),
  min_similarity: z.number().min(0).max(1).default(0.3).describe("Vectors less similar than this are no match."),
  fork_idle_s: z
    .int()
    .min(1)
    .default(memoryLimits.overlayIdleS)
    .describe("What a fork wrote, or an agent without an id, is kept for this long after it was last open."),
  ...pluginEntryFields,
});

export type MemoryOptions = z.input<typeof optionsSchema>;
export type ParsedMemoryOptions = z.output<typeof optionsSchema>;

export function parseMemoryOptions(options: unknown): ParsedMemoryOptions {
  return parsePluginOptions(optionsSchema, options, "options of the memory plugin");
}
