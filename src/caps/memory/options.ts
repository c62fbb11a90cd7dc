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
      on_full: onFull.default(standard).describe("At the limits: evict the oldest entry, or reject the new one."),
    })
    .prefault({});
}

/** @public The generator writes the reference page from it. */
export const optionsSchema = z.strictObject({
  working: tierOptions(memoryLimits.maxWorkingEntries, memoryLimits.maxWorkingBytes, "evict").describe(
    "The tier of a session; evicts the least recently used entry.",
  ),
  episodic: tierOptions(memoryLimits.maxEpisodicEntries, memoryLimits.maxEpisodicBytes, "evict").describe(
    "The tier of an agent; evicts the entry with the earliest event_at.",
  ),
  semantic: tierOptions(memoryLimits.maxSemanticEntries, memoryLimits.maxSemanticBytes, "refuse").describe(
    "The tier that a namespace shares.",
  ),
  max_entry_bytes: z.int().min(1).default(memoryLimits.maxEntryBytes).describe("Content of one entry, as JSON."),
  max_results: z.int().min(1).default(memoryLimits.maxResults).describe("Entries in one answer."),
  max_memories: z.int().min(1).default(memoryLimits.maxMemories).describe("Memories that one session initialises."),
  max_spaces_per_agent: z
    .int()
    .min(1)
    .default(memoryLimits.maxSpacesPerAgent)
    .describe("Memories in the persistent tiers that one agent may create."),
  tokenizer: z
    .enum(["unicode61", "porter"])
    .default("unicode61")
    .describe(
      "How text is split into words; porter also finds other forms of English words. Applies to memories created from now on.",
    ),
  namespaces: z
    .record(
      z.string().min(1),
      z.strictObject({
        access: z.enum(["shared", "read_only", "private"]).default("shared"),
        owners: z.array(z.string().min(1)).default([]).describe("Ids of the agents that may always read and write."),
      }),
    )
    .default({})
    .describe("Access to the semantic tier by namespace; `*` is the rule for all namespaces without a rule."),
  embedder: z
    .enum(["none", "local"])
    .default("none")
    .describe("The model that turns texts of the semantic tier into vectors."),
  vector_weight: z
    .number()
    .min(0)
    .max(1)
    .default(0.7)
    .describe("Weight of vector similarity in a score; the rest is the weight of the words."),
  min_similarity: z
    .number()
    .min(0)
    .max(1)
    .default(0.3)
    .describe("An entry with a lower vector similarity, and without a word of the query, does not match."),
  fork_idle_s: z
    .int()
    .min(1)
    .default(memoryLimits.overlayIdleS)
    .describe(
      "Entries of a fork, and of an agent without an id, are deleted this long after their session was last open.",
    ),
  ...pluginEntryFields,
});

export type MemoryOptions = z.input<typeof optionsSchema>;
export type ParsedMemoryOptions = z.output<typeof optionsSchema>;

export function parseMemoryOptions(options: unknown): ParsedMemoryOptions {
  return parsePluginOptions(optionsSchema, options, "options of the memory plugin");
}
