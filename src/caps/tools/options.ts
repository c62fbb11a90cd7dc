// The options of the tools plugin, spelled as in a config file.
import { z } from "zod";
import { parsePluginOptions, pluginEntryFields } from "../../host/config/plugin-options.ts";
import { builtinNames } from "./builtin/all.ts";
import { toolLimits } from "./limits.ts";

/** @public The generator writes the reference page from it. */
export const optionsSchema = z.strictObject({
  builtin: z.union([z.boolean(), z.array(z.enum(builtinNames))]).default(true),
  modules: z.array(z.string().min(1)).default([]),
  /** The same under its other name in the field. */
  tool_modules: z.array(z.string().min(1)).default([]),
  isolation: z.enum(["none", "worker"]).default("none"),
  /** Worker threads for isolated modules. */
  workers: z.int().min(1).max(64).default(4),
  allow: z.array(z.string().min(1)).default(["*"]),
  deny: z.array(z.string().min(1)).default([]),
  max_result_bytes: z.int().min(1024).default(toolLimits.maxResultBytes),
  max_collected_events: z.int().min(0).default(toolLimits.maxCollectedEvents),
  http: z
    .strictObject({
      allow_private: z.boolean().default(false),
      max_bytes: z.int().min(1).default(toolLimits.httpMaxBytes),
      timeout_ms: z.int().min(1).default(toolLimits.httpTimeoutMs),
    })
    .prefault({}),
  js: z
    .strictObject({
      memory_mb: z.number().min(16).max(1024).default(toolLimits.jsMemoryMb),
      timeout_ms: z.int().min(1).default(toolLimits.jsTimeoutMs),
    })
    .prefault({}),
  ...pluginEntryFields,
});

export type ToolsOptions = z.input<typeof optionsSchema>;
export type ParsedToolsOptions = z.output<typeof optionsSchema>;

export function parseToolsOptions(options: unknown): ParsedToolsOptions {
  return parsePluginOptions(optionsSchema, options, "options of the tools plugin");
}
