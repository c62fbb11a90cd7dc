// The options of the proc plugin, spelled as in a config file.
import { isAbsolute } from "node:path";
import * as z from "zod";
import { parsePluginOptions, pluginEntryFields } from "../../machinery/options/plugin-options.ts";
import { ConfigError } from "../../machinery/options/problem.ts";
import { procLimits } from "./limits.ts";

/** Programs that read, print or wait. None of them starts another program or writes a file. */
const defaultCommands = [
  "cat",
  "cut",
  "echo",
  "false",
  "grep",
  "head",
  "ls",
  "printf",
  "pwd",
  "seq",
  "sleep",
  "tail",
  "tr",
  "true",
  "uname",
  "wc",
];

/** Variables that make an allowed program run other code before its own. */
const defaultDeniedEnv = [
  "LD_*",
  "DYLD_*",
  "GLIBC_TUNABLES",
  "GCONV_PATH",
  "OPENSSL_*",
  "NODE_OPTIONS",
  "NODE_PATH",
  "PYTHON*",
  "PERL5*",
  "PERLLIB",
  "RUBYOPT",
  "RUBYLIB",
  "LUA_*",
  "PHPRC",
  "PHP_INI_SCAN_DIR",
  "JAVA_TOOL_OPTIONS",
  "JDK_JAVA_OPTIONS",
  "_JAVA_OPTIONS",
  "CLASSPATH",
  "DOTNET_STARTUP_HOOKS",
  "BASH_ENV",
  "BASH_FUNC_*",
  "BASHOPTS",
  "SHELLOPTS",
  "PS4",
  "ENV",
  "GIT_*",
];

/** A relative path would be resolved against the working directory that the agent chooses. */
const command = z
  .string()
  .min(1)
  .refine((text) => !text.includes("/") || isAbsolute(text), "is a name, an absolute path, or *");

const mebibytes = z.int().min(1);

/** @public The generator writes the reference page from it. */
export const optionsSchema = z.strictObject({
  /** Programs that may be run: names, absolute paths, `*` for all; objects with patterns for the arguments. */
  allowed_commands: z
    .array(z.union([command, z.strictObject({ command, args: z.array(z.string()).optional() })]))
    .default(defaultCommands),
  /**
   * The sandbox of processes: `auto` selects the best that works on this machine. `none` must be configured explicitly.
   */
  sandbox: z.string().min(1).default("auto"),
  /** Whether processes can use the network. */
  network: z.boolean().default(false),
  workspace_access: z.enum(["read", "write"]).default("write"),
  /** Further files and folders that processes can read. */
  readable: z.array(z.string().min(1)).default([]),
  sandbox_limits: z
    .strictObject({
      memory_mb: mebibytes.optional(),
      cpu_seconds: z.int().min(1).optional(),
      processes: z.int().min(1).optional(),
      file_mb: mebibytes.optional(),
      workspace_mb: mebibytes.optional(),
      scratch_mb: mebibytes.optional(),
      open_files: z.int().min(8).optional(),
    })
    .prefault({}),
  /** Variables of the host that processes get; all others are withheld. */
  inherit_env: z.array(z.string().min(1)).default(["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ"]),
  /** Variables that every process gets. */
  env: z.record(z.string(), z.string()).default({}),
  /** Names, with `*`, that agents may not set. */
  denied_env: z.array(z.string().min(1)).default(defaultDeniedEnv),
  /** Whether agents may start processes on terminals. */
  pty: z.boolean().default(true),
  /** Whether agents may let processes continue after their session. */
  detach: z.boolean().default(true),
  max_procs: z.int().min(1).default(procLimits.maxProcs),
  max_procs_total: z.int().min(1).default(procLimits.maxProcsTotal),
  max_detached: z.int().min(0).default(procLimits.maxDetached),
  max_output_bytes: z.int().min(0).default(procLimits.maxOutputBytes),
  ring_bytes: z.int().min(1024).default(procLimits.ringBytes),
  timeout_seconds: z.number().min(0.001).default(procLimits.timeoutSeconds),
  max_timeout_seconds: z.number().min(0.001).default(procLimits.maxTimeoutSeconds),
  grace_seconds: z.number().min(0).max(60).default(procLimits.graceSeconds),
  /**
   * How long a process waits for an agent that receives nothing, on a host that tracks which output agents have
   * received.
   */
  stall_ms: z.int().min(0).default(procLimits.stallMs),
  ...pluginEntryFields,
});

export type ProcOptions = z.input<typeof optionsSchema>;
export type ParsedProcOptions = z.output<typeof optionsSchema>;

/** The SDK's spelling of its only option. */
const otherSpelling = "ALLOWED_COMMANDS";
const source = "options of the proc plugin";

export function parseProcOptions(options: Record<string, unknown>): ParsedProcOptions {
  const { [otherSpelling]: commands, ...rest } = options;
  if (commands === undefined) return parsePluginOptions(optionsSchema, rest, source);
  if (rest.allowed_commands !== undefined)
    throw new ConfigError(
      [{ path: otherSpelling, message: "means the same as allowed_commands: set only one of them" }],
      source,
    );
  return parsePluginOptions(optionsSchema, { ...rest, allowed_commands: commands }, source);
}
