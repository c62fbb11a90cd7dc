// The options of the proc plugin, spelled as in a config file.
import { isAbsolute } from "node:path";
import * as z from "zod";
import { parsePluginOptions, pluginEntryFields } from "../../machinery/options/plugin-options.ts";
import { ConfigError } from "../../machinery/options/problem.ts";
import { procLimits } from "./limits.ts";

/** Programs that read, print or wait. None of them starts another one or writes a file. */
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

/** Variables by which a program that is allowed can be made to run another one's code before its own. */
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

/** A path that is not absolute would be one from where the agent says that it is. */
const command = z
  .string()
  .min(1)
  .refine((text) => !text.includes("/") || isAbsolute(text), "is a name, an absolute path, or *");

const mebibytes = z.int().min(1);

/** @public The generator writes the reference page from it. */
export const optionsSchema = z.strictObject({
  /** What may be run: names, absolute paths, `*` for everything; objects with patterns for the arguments. */
  allowed_commands: z
    .array(z.union([command, z.strictObject({ command, args: z.array(z.string()).optional() })]))
    .default(defaultCommands),
  /** What confines processes: `auto` is the best that works here. `none` must be asked for by name. */
  sandbox: z.string().min(1).default("auto"),
  /** Whether processes reach the network. */
  network: z.boolean().default(false),
  workspace_access: z.enum(["read", "write"]).default("write"),
  /** Further files and folders that processes may read. */
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
  /** Variables of the host that processes get; all others stay with the host. */
  inherit_env: z.array(z.string().min(1)).default(["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ"]),
  /** Variables that every process gets. */
  env: z.record(z.string(), z.string()).default({}),
  /** Names, with `*`, that agents may not set. */
  denied_env: z.array(z.string().min(1)).default(defaultDeniedEnv),
  /** Whether agents get processes on terminals. */
  pty: z.boolean().default(true),
  /** Whether agents may let processes go on after their session. */
  detach: z.boolean().default(true),
  max_procs: z.int().min(1).default(procLimits.maxProcs),
  max_procs_total: z.int().min(1).default(procLimits.maxProcsTotal),
  max_detached: z.int().min(0).default(procLimits.maxDetached),
  max_output_bytes: z.int().min(0).default(procLimits.maxOutputBytes),
  ring_bytes: z.int().min(1024).default(procLimits.ringBytes),
  timeout_seconds: z.number().min(0.001).default(procLimits.timeoutSeconds),
  max_timeout_seconds: z.number().min(0.001).default(procLimits.maxTimeoutSeconds),
  grace_seconds: z.number().min(0).max(60).default(procLimits.graceSeconds),
  /** How long a process waits for an agent that takes nothing, on a host that counts what agents have not taken. */
  stall_ms: z.int().min(0).default(procLimits.stallMs),
  ...pluginEntryFields,
});

export type ProcOptions = z.input<typeof optionsSchema>;
export type ParsedProcOptions = z.output<typeof optionsSchema>;

/** The SDK's spelling of the one option that it has. */
const otherSpelling = "ALLOWED_COMMANDS";
const source = "options of the proc plugin";

export function parseProcOptions(options: Record<string, unknown>): ParsedProcOptions {
  const { [otherSpelling]: commands, ...rest } = options;
  if (commands === undefined) return parsePluginOptions(optionsSchema, rest, source);
  if (rest.allowed_commands !== undefined)
    throw new ConfigError(
      [{ path: otherSpelling, message: "says the same as allowed_commands: give one of them" }],
      source,
    );
  return parsePluginOptions(optionsSchema, { ...rest, allowed_commands: commands }, source);
}
