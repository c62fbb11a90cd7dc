// The port for sandboxes, which run untrusted programs. Adapters are in src/sandboxes; plugins get them through their
// context.
import type { JsonValue } from "../../protocol/json.ts";

/** Resources of a confined program. Unless stated otherwise, a limit applies to its whole process tree. */
export interface SandboxLimits {
  memoryBytes: number;
  /** CPU time, not elapsed time. */
  cpuSeconds: number;
  processes: number;
  /** The largest file that it may write. */
  fileBytes: number;
  /** By how much a workspace may grow since its first program. Beyond it, all programs that may write to it are ended. */
  workspaceBytes: number;
  /** The size of its private /tmp. */
  scratchBytes: number;
  openFiles: number;
}

export interface SandboxPolicy {
  /** Whether the program may use the network. */
  network: boolean;
  /** The folder of the host that it sees in addition to the system, under its own path. */
  workspace?: { path: string; access: "read" | "write" };
  /** Further folders or files that it may read, under their own paths. */
  readable?: readonly string[];
  /** Limits that are left out have the values of the host's configuration. */
  limits: Partial<SandboxLimits>;
}

export interface ConfinedCommand {
  argv: readonly [string, ...string[]];
  cwd: string;
  /** The whole environment: no variables of the host are added. */
  env: Readonly<Record<string, string>>;
  /** True if it will be started on a terminal instead of pipes. */
  isTerminal?: boolean;
  /**
   * True if it will be started with an additional pipe at `reportDescriptor`, on which a sandbox may report details that an
   * exit code does not contain.
   */
  isReported?: boolean;
}

/** How a process ended; one of the two is null. */
export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Why a confined program was ended from outside, or crashed. */
export type SandboxVerdict = "out_of_memory" | "sandbox_crash" | "timeout";

/**
 * A command that the caller may start once: with pipes, as the leader of a process group (`detached`), or on a terminal of
 * its own. Signals to that group reach the program and all processes that it started, as they would without a sandbox.
 */
export interface Confinement {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /**
   * The exit of the program, from the exit of `file` and the report. A sandbox may turn a signal into an exit code; without
   * a report, that signal cannot be distinguished from a code.
   */
  exitOf(exit: ProcessExit, report?: string): ProcessExit;
  /**
   * Call it after `file` has ended and before `release`, with the result of `exitOf` and the end of its stderr. Do not call
   * it if the caller ended the program: a signal from outside looks like a crash.
   */
  verdict(exit: ProcessExit & { stderr: string }): Promise<SandboxVerdict | undefined>;
  /** Whether programs exceeded `workspaceBytes`, which explains a verdict. Absent if the sandbox does not check it. */
  isWorkspaceFull?(): boolean;
  /** Kills the remaining processes and removes temporary resources. Allowed without a start, and more than once. */
  release(): Promise<void>;
}

/** Runs programs of the machine. */
export interface ProcessSandbox {
  readonly kind: "process";
  readonly name: string;
  /**
   * Rejects as spawn would, with an Error whose `code` is ENOENT, EACCES or ENOTDIR, if the program or the working directory
   * is not visible to the command.
   */
  confine(command: ConfinedCommand, policy: SandboxPolicy): Promise<Confinement>;
  close(): Promise<void>;
}

export interface ScriptRun {
  /** A JavaScript module's text whose default export is a function of the input. */
  source: string;
  input: JsonValue;
  /** Functions of the host that the script may call by these names; each takes and returns JSON. */
  functions?: Readonly<Record<string, (argument: JsonValue) => Promise<JsonValue>>>;
  limits: Partial<SandboxLimits>;
  signal: AbortSignal;
}

/** Runs small JavaScript modules inside this process, isolated from it. */
export interface ScriptSandbox {
  readonly kind: "script";
  readonly name: string;
  /** Rejects with an A2EError: `sandbox_crash`, `out_of_memory`, `timeout`, or `runtime_error` for an error of the script. */
  run(script: ScriptRun): Promise<JsonValue>;
  close(): Promise<void>;
}

export type Sandbox = ProcessSandbox | ScriptSandbox;

export interface SandboxReport {
  name: string;
  isUsable: boolean;
  /** The restrictions that it enforces on this machine, or the reason why it does not work. */
  explanation: string;
}

/** The sandboxes of a host. */
export interface Sandboxes {
  /**
   * The named process sandbox. For `auto`, or without a name, the default of the host: the best that works on this machine,
   * unless the configuration names another. Rejects if it is not available; never falls back to running unconfined.
   */
  process(name?: string): Promise<ProcessSandbox>;
  script(name?: string): Promise<ScriptSandbox>;
  /** Which sandboxes work on this machine, and why the others do not. */
  report(): Promise<SandboxReport[]>;
  close(): Promise<void>;
}

/** The default for a host without sandboxes: each request is rejected. */
export const noSandboxes: Sandboxes = {
  process: () => Promise.reject(new Error("this host was started without sandboxes")),
  script: () => Promise.reject(new Error("this host was started without sandboxes")),
  report: async () => [],
  close: async () => {},
};
