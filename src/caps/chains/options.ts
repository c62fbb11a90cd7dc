// The options of the chains plugin, spelled as in a config file.
import * as z from "zod";
import { parsePluginOptions, pluginEntryFields } from "../../machinery/options/plugin-options.ts";
import { chainLimits } from "./limits.ts";

/** @public The generator writes the reference page from it. */
export const optionsSchema = z.strictObject({
  /** Nodes of one chain. */
  max_nodes: z.int().min(1).max(100_000).default(chainLimits.maxNodes),
  /** Nodes of one run that run at once, including items of its maps. */
  max_parallel: z.int().min(1).max(1000).default(chainLimits.maxParallel),
  /** Items of one map. */
  max_items: z.int().min(1).default(chainLimits.maxItems),
  /** Items of all maps of one run, including nested maps. */
  max_run_items: z.int().min(1).default(chainLimits.maxRunItems),
  /** Bytes of an output as JSON; a larger output is sent as a reference. */
  max_inline_bytes: z.int().min(64).default(chainLimits.maxInlineBytes),
  /** Bytes of all outputs of an answer together. */
  max_answer_bytes: z.int().min(64).default(chainLimits.maxAnswerBytes),
  /** Bytes of large outputs kept for one session. */
  max_kept_bytes: z.int().min(1024).default(chainLimits.maxKeptBytes),
  /** How long large outputs are kept. */
  kept_days: z.number().min(0).default(chainLimits.keptDays),
  ...pluginEntryFields,
});

export type ChainsOptions = z.input<typeof optionsSchema>;
export type ParsedChainsOptions = z.output<typeof optionsSchema>;

export function parseChainsOptions(options: unknown): ParsedChainsOptions {
  return parsePluginOptions(optionsSchema, options, "options of the chains plugin");
}
