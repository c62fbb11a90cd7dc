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
      "Folders of skills of this project. They take precedence over those of the user, which take precedence over those of the system.",
    ),
  user: folders.default(["~/.a2e/skills", "~/.agents/skills"]).describe("Folders of skills of the user."),
  system: folders.default([]).describe("Folders of skills of the system."),
  builtin: z
    .boolean()
    .default(true)
    .describe("Whether to serve the skills of this package, with the lowest precedence."),
  interpreters: z
    .record(z.string().regex(/^[a-z][a-z0-9.+-]{0,31}$/), z.union([z.string().min(1), z.array(z.string()).min(1)]))
    .optional()
    .describe(
      "Programs that may run scripts, by the name that a skill gives as `runtime`. Without it, the Node.js of the host and python3.",
    ),
  sandbox: z
    .string()
    .optional()
    .describe(
      "The name of the sandbox for scripts that run as processes. Without it, the best sandbox that works on this machine.",
    ),
  network: z.array(z.string()).default([]).describe("Skills whose scripts may use the network."),
  workspace: z
    .enum(["none", "read", "write"])
    .default("none")
    .describe("The access of scripts to the workspace folder of the host."),
  llm: z
    .boolean()
    .default(true)
    .describe("Whether scripts that declare `llm: true` may request completions from the agent."),
  max_llm_calls: z.int().min(0).default(skillLimits.maxLlmCalls).describe("Completions that one call may request."),
  timeout_seconds: z
    .number()
    .min(0.1)
    .default(skillLimits.timeoutSeconds)
    .describe("Timeout of a call if neither the call nor the skill gives one."),
  memory_mb: z.int().min(16).default(skillLimits.memoryMb).describe("Memory of one script."),
  max_output_bytes: z.int().min(1024).default(skillLimits.maxOutputBytes).describe("Bytes that one run may print."),
  max_running: z
    .int()
    .min(1)
    .default(skillLimits.maxRunning)
    .describe("Scripts of the host that run at the same time; further calls fail with `rate_limited`."),
  watch: z
    .boolean()
    .default(true)
    .describe("Whether to push changes of the folders to agents (skill/changed). Calls always use the current files."),
  ...pluginEntryFields,
});

export type SkillOptions = z.input<typeof optionsSchema>;
export type ParsedSkillOptions = z.output<typeof optionsSchema>;

export function parseSkillOptions(options: unknown): ParsedSkillOptions {
  return parsePluginOptions(optionsSchema, options, "options of the skill plugin");
}
