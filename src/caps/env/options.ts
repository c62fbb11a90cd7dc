// The options of the env plugin, spelled as in a config file.
import { z } from "zod";
import { parsePluginOptions, pluginEntryFields } from "../../machinery/options/plugin-options.ts";
import { maxTimerMs } from "../../protocol/timers.ts";
import { builtinNames } from "./builtin/all.ts";
import { envLimits } from "./limits.ts";
import { autoresetModes } from "./protocol.ts";

/** @public The generator writes the reference page from it. */
export const optionsSchema = z.strictObject({
  builtin: z.union([z.boolean(), z.array(z.enum(builtinNames))]).default(true),
  modules: z.array(z.string().min(1)).default([]).describe("Modules, or folders of modules, that export environments."),
  isolation: z.enum(["none", "worker"]).default("none"),
  /** Worker threads for isolated modules. */
  workers: z.int().min(1).max(64).default(2),
  worker_timeout_ms: z.int().min(1).max(maxTimerMs).default(envLimits.workerTimeoutMs),
  worker_memory_mb: z.int().min(16).max(4096).default(envLimits.workerMemoryMb),
  /** The environment of a reset without `env_name`; by default the first environment of the host. */
  default_env: z.string().default(""),
  max_episodes: z.int().min(1).default(envLimits.maxEpisodes),
  when_full: z.enum(["deny", "close_oldest"]).default("deny"),
  max_steps: z.int().min(1).default(envLimits.maxSteps),
  max_batch: z.int().min(1).default(envLimits.maxBatch),
  autoreset: z.enum(autoresetModes).default("disabled"),
  record_experiences: z.boolean().default(false),
  max_experiences: z.int().min(1).default(envLimits.maxExperiences),
  data: z
    .strictObject({
      /** A folder that every data root starts from. */
      baseline: z.string().default(""),
      /** Folders that agents may stage files from; by default the workspace. */
      sources: z.array(z.string().min(1)).default([]),
      max_bytes: z.int().min(0).default(envLimits.maxDataBytes),
      max_files: z.int().min(0).default(envLimits.maxDataFiles),
    })
    .prefault({}),
  ...pluginEntryFields,
});

export type EnvOptions = z.input<typeof optionsSchema>;
export type ParsedEnvOptions = z.output<typeof optionsSchema>;

export function parseEnvOptions(options: unknown): ParsedEnvOptions {
  return parsePluginOptions(optionsSchema, options, "options of the env plugin");
}
