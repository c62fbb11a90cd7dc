// The options of the toolkits plugin, spelled as in a config file.
import { z } from "zod";
import { parsePluginOptions, pluginEntryFields } from "../../machinery/options/plugin-options.ts";
import { jsonObject } from "../../protocol/json.ts";
import { builtinNames } from "./builtin/names.ts";
import { isToolkitName } from "./define-toolkit.ts";
import { toolkitLimits } from "./limits.ts";

/** @public The generator writes the reference page from it. */
export const optionsSchema = z.strictObject({
  builtin: z
    .union([z.boolean(), z.array(z.enum(builtinNames))])
    .default(true)
    .describe("Whether to offer the built-in toolkits: all, none, or those in a list."),
  modules: z.array(z.string().min(1)).default([]).describe("Modules, or folders of modules, that export toolkits."),
  shared: z
    .record(
      z.string().refine(isToolkitName, "expected small letters, digits, single _ and -"),
      z.strictObject({
        toolkit: z
          .string()
          .min(1)
          .optional()
          .describe("The name of the toolkit. Without it, the toolkit called like this entry."),
        config: jsonObject.default({}),
      }),
    )
    .default({})
    .describe("Toolkits that run for every session, by the prefix of their tools. Agents cannot change them."),
  shared_retry_ms: z
    .int()
    .min(1)
    .default(toolkitLimits.sharedRetryMs)
    .describe("Time after which a shared toolkit that could not start is tried again."),
  shared_admins: z
    .array(z.string().min(1))
    .default([])
    .describe(
      "Authenticated agents that may configure and uninstall toolkits of scope host; `*` for all agents, even unauthenticated ones.",
    ),
  max_installed: z
    .int()
    .min(0)
    .default(toolkitLimits.maxInstalled)
    .describe("Toolkits that one session may have installed."),
  start_timeout_ms: z
    .int()
    .min(1)
    .default(toolkitLimits.startTimeoutMs)
    .describe("Time that a toolkit may take to start."),
  folders: z
    .array(z.string().min(1))
    .default([])
    .describe("Folders besides the workspace that the filesystem and sqlite toolkits may read."),
  writable_folders: z
    .array(z.string().min(1))
    .default([])
    .describe("Folders besides the workspace that these toolkits may read and write."),
  http: z
    .strictObject({
      allow_private: z.boolean().default(false).describe("Allows requests to addresses that are not public."),
      max_bytes: z.int().min(1).default(toolkitLimits.httpMaxBytes).describe("The maximum size of a response body."),
      timeout_ms: z
        .int()
        .min(1)
        .default(toolkitLimits.httpTimeoutMs)
        .describe("Time of one request, redirects included."),
    })
    .prefault({})
    .describe("Settings of the http toolkit."),
  sqlite: z
    .strictObject({
      allow_write: z
        .boolean()
        .default(false)
        .describe("Allows agents to open databases for writing, in the workspace and in writable folders."),
      max_rows: z
        .int()
        .min(1)
        .default(toolkitLimits.sqliteMaxRows)
        .describe("The maximum number of rows of one query."),
      timeout_ms: z.int().min(1).default(toolkitLimits.sqliteTimeoutMs).describe("Time of one query."),
      memory_mb: z.int().min(8).max(4096).default(toolkitLimits.sqliteMemoryMb).describe("Memory of one query."),
      processes: z
        .int()
        .min(1)
        .max(64)
        .default(toolkitLimits.sqliteProcesses)
        .describe("Processes for queries, and so queries that run at the same time."),
    })
    .prefault({})
    .describe("Settings of the sqlite toolkit."),
  ...pluginEntryFields,
});

export type ToolkitsOptions = z.input<typeof optionsSchema>;
export type ParsedToolkitsOptions = z.output<typeof optionsSchema>;

export function parseToolkitsOptions(options: unknown): ParsedToolkitsOptions {
  return parsePluginOptions(optionsSchema, options, "options of the toolkits plugin");
}
