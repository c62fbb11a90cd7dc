// Converts a spawn request to a command that may be run, or to a problem for the agent.
import { resolve } from "node:path";
import type { SandboxLimits, SandboxPolicy } from "../../../plugin/ports/sandbox.ts";
import type { RequestOf } from "../../../protocol/table/capability.ts";
import type { ParsedProcOptions } from "../options.ts";
import type { proc } from "../protocol.ts";
import { type Commands, matchesPattern } from "./command.ts";

export type SpawnRequest = RequestOf<(typeof proc)["calls"]["spawn"]>;

export interface SpawnPlan {
  readonly problem?: undefined;
  /** As the agent sent it. */
  readonly cmd: readonly string[];
  /** Candidates for the file to run, best first. */
  readonly files: Iterable<string>;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly hasInput: boolean;
  readonly timeoutMs: number;
}

export interface Surroundings {
  readonly options: ParsedProcOptions;
  readonly commands: Commands;
  readonly workspaceDir: string;
  /** The variables that every process gets. */
  readonly env: Readonly<Record<string, string>>;
}

const inputModes = new Map([
  ["pipe", true],
  ["null", false],
  ["none", false],
  ["devnull", false],
]);

export function planSpawn(request: SpawnRequest, surroundings: Surroundings): SpawnPlan | { problem: string } {
  const { options, commands, workspaceDir } = surroundings;
  const { cmd } = request;
  if (cmd.length === 0 || cmd[0] === "")
    return { problem: "Empty command: cmd is the program and its arguments, as a list" };
  if (typeof cmd === "string")
    return { problem: "cmd must be a list of the program and its arguments; command lines for a shell are not run" };
  const hasInput = inputModes.get(request.stdin_mode);
  if (hasInput === undefined)
    return { problem: `stdin_mode must be "pipe" or "null", not "${request.stdin_mode.slice(0, 32)}"` };
  if (request.pty && !hasInput)
    return { problem: `a terminal is both input and output: with pty, stdin_mode must be "pipe"` };
  if (request.pty && !options.pty) return { problem: "terminals are not allowed on this host" };
  if (request.detached && !options.detach) return { problem: "detached processes are not allowed on this host" };
  const problem = problemOfTexts(cmd, request.cwd, request.env) ?? problemOfEnv(request.env, options.denied_env);
  if (problem !== undefined) return { problem };
  const cwd = resolve(workspaceDir, request.cwd);
  const found = commands.find(cmd, cwd);
  if (found.problem !== undefined) return { problem: found.problem };
  const seconds = request.timeout > 0 ? request.timeout : options.timeout_seconds;
  return {
    cmd,
    files: found.files,
    args: cmd.slice(1),
    cwd,
    env: { ...surroundings.env, ...request.env },
    hasInput,
    timeoutMs: Math.max(1, Math.min(seconds, options.max_timeout_seconds) * 1000),
  };
}

/** The system's texts end at the first zero byte, so it would use another text than was checked. */
function problemOfTexts(
  cmd: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): string | undefined {
  const hasZero = [...cmd, cwd, ...Object.keys(env), ...Object.values(env)].some((text) => text.includes("\0"));
  return hasZero ? "cmd, cwd and env must not contain zero bytes" : undefined;
}

function problemOfEnv(env: Readonly<Record<string, string>>, denied: readonly string[]): string | undefined {
  for (const name of Object.keys(env)) {
    if (name === "" || name.includes("=")) return `env: "${name.slice(0, 64)}" is not a valid variable name`;
    if (denied.some((pattern) => matchesPattern(pattern, name)))
      return `env: setting ${name.slice(0, 64)} is not allowed`;
  }
  return undefined;
}

/** The policy of the sandbox for a process. */
export function toPolicy(options: ParsedProcOptions, workspaceDir: string): SandboxPolicy {
  return {
    network: options.network,
    workspace: { path: workspaceDir, access: options.workspace_access },
    readable: options.readable.map((path) => resolve(options.base_dir, path)),
    limits: toLimits(options.sandbox_limits),
  };
}

const mebibyte = 1024 * 1024;

function toLimits(given: ParsedProcOptions["sandbox_limits"]): Partial<SandboxLimits> {
  const { memory_mb, cpu_seconds, processes, file_mb, workspace_mb, scratch_mb, open_files } = given;
  return {
    ...(memory_mb === undefined ? {} : { memoryBytes: memory_mb * mebibyte }),
    ...(cpu_seconds === undefined ? {} : { cpuSeconds: cpu_seconds }),
    ...(processes === undefined ? {} : { processes }),
    ...(file_mb === undefined ? {} : { fileBytes: file_mb * mebibyte }),
    ...(workspace_mb === undefined ? {} : { workspaceBytes: workspace_mb * mebibyte }),
    ...(scratch_mb === undefined ? {} : { scratchBytes: scratch_mb * mebibyte }),
    ...(open_files === undefined ? {} : { openFiles: open_files }),
  };
}
