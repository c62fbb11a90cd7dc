// Where programs run that nobody vouches for. The port is the host's; adapters are in src/sandboxes, and plugins get
// them through their context.
import type { JsonValue } from "../../protocol/json.ts";

/** What a confined program may use. Every limit holds for the whole tree of its processes, except where it says otherwise. */
export interface SandboxLimits {
  memoryBytes: number;
  /** Processor time, not time on the wall. */
  cpuSeconds: number;
  processes: number;
  /** The largest file that it may write. */
  fileBytes: number;
  /** By how much a workspace may grow since its first program. Beyond it, all programs that may write to it are ended. */
  workspaceBytes: number;
  /** What its private /tmp holds. */
  scratchBytes: number;
  openFiles: number;
}

export interface SandboxPolicy {
  /** Off unless somebody asks for it by name. */
  network: boolean;
  /** The one folder of the host that it sees beside the system, under its own path. */
  workspace?: { path: string; access: "read" | "write" };
  /** Further folders or files that it may read, under their own paths. */
  readable?: readonly string[];
  /** What is not named here is as the host is configured. */
  limits: Partial<SandboxLimits>;
}

export interface ConfinedCommand {
  argv: readonly [string, ...string[]];
  cwd: string;
  /** All of its environment: nothing of the host's is added. */
  env: Readonly<Record<string, string>>;
  /** True where it will be started on a terminal instead of pipes. */
  isTerminal?: boolean;
  /**
   * True where it will be started with a pipe more, under the `reportDescriptor`, on which a sandbox may report what an exit
   * code does not say.
   */
  isReported?: boolean;
}

/** How a process ended; one of the two is null. */
export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Why a confined program ended, where it was not its own doing. */
export type SandboxVerdict = "out_of_memory" | "sandbox_crash" | "timeout";

/**
 * A command ready to be started, once, by whoever wants it: with pipes, as the leader of a process group (`detached`), or on
 * a terminal of its own. Signals to that group reach the program and all that it started, as if nothing stood in between.
 */
export interface Confinement {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /**
   * What the program ended with, from how `file` ended and what was reported: where a sandbox stands in between, a signal
   * comes out as a code, and without a report the two cannot be told apart.
   */
  exitOf(exit: ProcessExit, report?: string): ProcessExit;
  /**
   * To be asked once `file` has ended, with what `exitOf` says and the last of its stderr, before `release`. Only where the
   * caller did not end it: a signal from outside looks like a crash.
   */
  verdict(exit: ProcessExit & { stderr: string }): Promise<SandboxVerdict | undefined>;
  /** Whether programs had filled the workspace: asked beside a verdict, it says why. Absent where nobody looks. */
  isWorkspaceFull?(): boolean;
  /** Kills whatever is left inside and removes what was made for it. Also for one that was never started; twice is once. */
  release(): Promise<void>;
}

/** Runs programs of the machine. */
export interface ProcessSandbox {
  readonly kind: "process";
  readonly name: string;
  /**
   * Rejects as spawn would, with an Error whose `code` is ENOENT, EACCES or ENOTDIR, where there is no such program or working
   * directory in what the command may see.
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

/** Runs small JavaScript inside this process and yet apart from it. */
export interface ScriptSandbox {
  readonly kind: "script";
  readonly name: string;
  /** Rejects with an A2EError: `sandbox_crash`, `out_of_memory`, `timeout`, or `runtime_error` with what the script threw. */
  run(script: ScriptRun): Promise<JsonValue>;
  close(): Promise<void>;
}

export type Sandbox = ProcessSandbox | ScriptSandbox;

export interface SandboxReport {
  name: string;
  isUsable: boolean;
  /** What it confines here, or why it does not work. */
  explanation: string;
}

/** The sandboxes of a host. */
export interface Sandboxes {
  /**
   * One that runs programs: the named one, or for `auto` and no name the default of the host, which is the best that works
   * here unless its config says otherwise. Throws an Error that says why there is none; never falls back to none at all.
   */
  process(name?: string): Promise<ProcessSandbox>;
  script(name?: string): Promise<ScriptSandbox>;
  /** What works on this machine and why the others do not. */
  report(): Promise<SandboxReport[]>;
  close(): Promise<void>;
}

/** For hosts that were given no sandboxes: whoever asks is told so. */
export const noSandboxes: Sandboxes = {
  process: () => Promise.reject(new Error("this host was started without sandboxes")),
  script: () => Promise.reject(new Error("this host was started without sandboxes")),
  report: async () => [],
  close: async () => {},
};
