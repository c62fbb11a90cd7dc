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
    .describe("The built-in tools to offer: all, none, or the named ones."),
  modules: z.array(z.string().min(1)).default([]).describe("Modules, or folders of modules, that export tools."),
  tool_modules: z.array(z.string().min(1)).default([]).describe("Another spelling of `modules`."),
  isolation: z
    .enum(["none", "worker"])
    .default("none")
    .describe("`worker` runs the modules in threads of their own, so that a tool that blocks does not stop the host."),
  workers: z.int().min(1).max(64).default(4).describe("Threads for isolated modules."),
  allow: z.array(z.string().min(1)).default(["*"]).describe("Patterns of the tools that agents can see and call."),
  deny: z
    .array(z.string().min(1))
    .default([])
    .describe("Patterns of tools that agents cannot see or call; `deny` overrides `allow`."),
  max_result_bytes: z
    .int()
    .min(1024)
    .default(toolLimits.maxResultBytes)
    .describe("Bytes of the data of one result. Longer text is cut, other data is rejected."),
  max_collected_events: z
    .int()
    .min(0)
    .default(toolLimits.maxCollectedEvents)
    .describe("Events kept for the result of a call that does not stream."),
  http: z
    .strictObject({
      allow_private: z.boolean().default(false).describe("Allows addresses that are not public."),
      max_bytes: z.int().min(1).default(toolLimits.httpMaxBytes).describe("Bytes of the body that it returns at most."),
      timeout_ms: z
        .int()
        .min(1)
        .default(toolLimits.httpTimeoutMs)
        .describe("Milliseconds for one request, including redirects."),
    })
    .prefault({})
    .describe("Limits of http_get."),
  js: z
    .strictObject({
      memory_mb: z
        .number()
        .min(16)
        .max(1024)
        .default(toolLimits.jsMemoryMb)
        .describe("Mebibytes of memory of one script."),
      timeout_ms: z.int().min(1).default(toolLimits.jsTimeoutMs).describe("Milliseconds for one script."),
    })
    .prefault({})
    .describe("Limits of js_eval."),
  ...pluginEntryFields,
});

export type ToolsOptions = z.input<typeof optionsSchema>;
export type ParsedToolsOptions = z.output<typeof optionsSchema>;

export function parseToolsOptions(options: unknown): ParsedToolsOptions {
  return parsePluginOptions(optionsSchema, options, "options of the tools plugin");
}
