// The options of the toolkits plugin, spelled as in a config file.
import { z } from "zod";
import { parsePluginOptions, pluginEntryFields } from "../../host/config/plugin-options.ts";
import { jsonObject } from "../../protocol/json.ts";
import { builtinNames } from "./builtin/names.ts";
import { isToolkitName } from "./define-toolkit.ts";
import { toolkitLimits } from "./limits.ts";

/** @public The generator writes the reference page from it. */
export const optionsSchema = z.strictObject({
  builtin: z.union([z.boolean(), z.array(z.enum(builtinNames))]).default(true),
  /** Modules, or folders of modules, that export toolkits. */
  modules: z.array(z.string().min(1)).default([]),
  /** Toolkits that run for every session, by the name before their tools. Agents cannot change them. */
  shared: z
    .record(
      z.string().refine(isToolkitName, "expected small letters, digits, single _ and -"),
      z.strictObject({
        /** Which toolkit; the one of this name where left out. */
        toolkit: z.string().min(1).optional(),
        config: jsonObject.default({}),
      }),
    )
    .default({}),
  /** Authenticated agents that may configure and uninstall toolkits of scope host; `*` for all agents, known or not. */
  shared_admins: z.array(z.string().min(1)).default([]),
  max_installed: z.int().min(0).default(toolkitLimits.maxInstalled),
  start_timeout_ms: z.int().min(1).default(toolkitLimits.startTimeoutMs),
  /** Folders beside the workspace that filesystem and sqlite may be pointed at, for reading. */
  folders: z.array(z.string().min(1)).default([]),
  /** Folders beside the workspace that they may also write to. */
  writable_folders: z.array(z.string().min(1)).default([]),
  http: z
    .strictObject({
      allow_private: z.boolean().default(false),
      max_bytes: z.int().min(1).default(toolkitLimits.httpMaxBytes),
      timeout_ms: z.int().min(1).default(toolkitLimits.httpTimeoutMs),
    })
    .prefault({}),
  sqlite: z
    .strictObject({
      /** Lets agents open databases for writing, in the workspace and in writable folders. */
      allow_write: z.boolean().default(false),
      max_rows: z.int().min(1).default(toolkitLimits.sqliteMaxRows),
      timeout_ms: z.int().min(1).default(toolkitLimits.sqliteTimeoutMs),
      memory_mb: z.int().min(8).max(4096).default(toolkitLimits.sqliteMemoryMb),
      /** Processes for queries, and so queries at once. */
      processes: z.int().min(1).max(64).default(toolkitLimits.sqliteProcesses),
    })
    .prefault({}),
  ...pluginEntryFields,
});

export type ToolkitsOptions = z.input<typeof optionsSchema>;
export type ParsedToolkitsOptions = z.output<typeof optionsSchema>;

export function parseToolkitsOptions(options: unknown): ParsedToolkitsOptions {
  return parsePluginOptions(optionsSchema, options, "options of the toolkits plugin");
}
