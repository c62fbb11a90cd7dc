// The options of the skill plugin, spelled as in a config file.
import { z } from "zod";
import { parsePluginOptions, pluginEntryFields } from "../../machinery/options/plugin-options.ts";
import { skillLimits } from "./limits.ts";

const folders = z.array(z.string().min(1));

/** @public The generator writes the reference page from it. */
export const optionsSchema = z.strictObject({
  project: folders
    .default(["skills", ".agents/skills"])
    .describe(
      "Folders of skills of this project. They win over those of the user, which win over those of the system.",
    ),
  user: folders.default(["~/.a2e/skills", "~/.agents/skills"]).describe("Folders of skills of the user."),
  system: folders.default([]).describe("Folders of skills of the system."),
  builtin: z
    .boolean()
    .default(true)
    .describe("Whether the skills that come with this package are there, after all others."),
  interpreters: z
    .record(z.string().regex(/^[a-z][a-z0-9.+-]{0,31}$/), z.union([z.string().min(1), z.array(z.string()).min(1)]))
    .optional()
    .describe(
      "Programs that may run scripts, by the name that a skill gives as `runtime`; this host's own Node and python3 where left out.",
    ),
  sandbox: z
    .string()
    .optional()
    .describe("The sandbox of scripts that run as processes, by name; the best one that works here where left out."),
  network: z.array(z.string()).default([]).describe("Skills whose scripts may use the network."),
  workspace: z
    .enum(["none", "read", "write"])
    .default("none")
    .describe("What scripts may do in the workspace folder of the host."),
  llm: z.boolean().default(true).describe("Whether scripts that declare it may ask the agent for completions."),
  max_llm_calls: z.int().min(0).default(skillLimits.maxLlmCalls).describe("Completions that one call may ask for."),
  timeout_seconds: z
    .number()
    .min(0.1)
    .default(skillLimits.timeoutSeconds)
    .describe("Time of a call that names none, and whose skill names none."),
  memory_mb: z.int().min(16).default(skillLimits.memoryMb).describe("Memory of one script."),
  max_output_bytes: z.int().min(1024).default(skillLimits.maxOutputBytes).describe("Bytes that one run may print."),
  max_running: z
    .int()
    .min(1)
    .default(skillLimits.maxRunning)
    .describe("Scripts of the host that run at once; beyond it `rate_limited`."),
  watch: z
    .boolean()
    .default(true)
    .describe("Whether agents are told of changes to folders as they happen; calls always use what is there."),
  ...pluginEntryFields,
});

export type SkillOptions = z.input<typeof optionsSchema>;
export type ParsedSkillOptions = z.output<typeof optionsSchema>;

export function parseSkillOptions(options: unknown): ParsedSkillOptions {
  return parsePluginOptions(optionsSchema, options, "options of the skill plugin");
}
