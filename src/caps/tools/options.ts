// The options of the tools plugin, spelled as in a config file.
import { z } from "zod";
import { parsePluginOptions, pluginEntryFields } from "../../machinery/options/plugin-options.ts";
import { builtinNames } from "./builtin/all.ts";
import { toolLimits } from "./limits.ts";

/** @public The generator writes the reference page from it. */
export const optionsSchema = z.strictObject({
  builtin: z
    .union([z.boolean(), z.array(z.enum(builtinNames))])
    .default(true)
    .describe("Which of the built-in tools there are."),
  modules: z.array(z.string().min(1)).default([]).describe("Modules, or folders of modules, that export tools."),
  tool_modules: z.array(z.string().min(1)).default([]).describe("The same under its other name in the field."),
  isolation: z
    .enum(["none", "worker"])
    .default("none")
    .describe("`worker` runs the modules in threads of their own, so that one that blocks does not stop the host."),
  workers: z.int().min(1).max(64).default(4).describe("Threads for isolated modules."),
  allow: z.array(z.string().min(1)).default(["*"]).describe("Patterns of the tools that agents see and call."),
  deny: z.array(z.string().min(1)).default([]).describe("Patterns of those that they do not; a denial wins."),
  max_result_bytes: z
    .int()
    .min(1024)
    .default(toolLimits.maxResultBytes)
    .describe("Largest data of one result. Longer text is cut, anything else is refused."),
  max_collected_events: z
    .int()
    .min(0)
    .default(toolLimits.maxCollectedEvents)
    .describe("Events kept for the result of a call that does not stream."),
  http: z
    .strictObject({
      allow_private: z.boolean().default(false).describe("Lets it reach addresses that are not public."),
      max_bytes: z.int().min(1).default(toolLimits.httpMaxBytes).describe("Body that it returns at most."),
      timeout_ms: z.int().min(1).default(toolLimits.httpTimeoutMs).describe("Time of one request, redirects included."),
    })
    .prefault({})
    .describe("What http_get may do."),
  js: z
    .strictObject({
      memory_mb: z.number().min(16).max(1024).default(toolLimits.jsMemoryMb).describe("Memory of one script."),
      timeout_ms: z.int().min(1).default(toolLimits.jsTimeoutMs).describe("Time of one script."),
    })
    .prefault({})
    .describe("What js_eval may do."),
  ...pluginEntryFields,
});

export type ToolsOptions = z.input<typeof optionsSchema>;
export type ParsedToolsOptions = z.output<typeof optionsSchema>;

export function parseToolsOptions(options: unknown): ParsedToolsOptions {
  return parsePluginOptions(optionsSchema, options, "options of the tools plugin");
}
