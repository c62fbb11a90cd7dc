// An MCP server as a child process. The SDK's own transport starts a second process to probe for the revision. This one
// probes on the same process, gives the child its own process group and kills the whole group, limits its stderr, and
// yields to the rest of the host when the child floods it.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { Writable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { holdsTerminals, withoutInheritedFiles } from "../../../machinery/processes/inherited-files.ts";
import type { OrphanGuard } from "../../../machinery/processes/orphan-guard.ts";
import { mcpLimits } from "../limits.ts";
import { isDoneWithin } from "../sdk/within.ts";
import { LineReader } from "./line-reader.ts";
import type { StderrLog } from "./stderr-log.ts";
import { maxUnsentBytes, ServerDoesNotRead } from "./unsent.ts";
import { toWindowsCommand } from "./windows-command.ts";

export interface StdioOptions {
  readonly cmd: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly maxMessageBytes: number;
  readonly stderr: StderrLog;
  readonly guard: OrphanGuard;
}

const isWindows = process.platform === "win32";

/**
 * The only variables of the host's environment that a server gets: those for finding programs and for the user's
 * locale.
 */
const inherited = isWindows
  ? [
      "APPDATA",
      "COMSPEC",
      "HOMEDRIVE",
      "HOMEPATH",
      "LOCALAPPDATA",
      "PATH",
      "PATHEXT",
      "PROGRAMDATA",
      "PROGRAMFILES",
    ].concat(["SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE", "WINDIR"])
  : ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

export function createStdioEnvironment(given: Readonly<Record<string, string>>): Record<string, string> {
  const kept = inherited.flatMap((name) => {
    const value = process.env[name];
    // A function that a shell exported: text that another shell would run.
    return value === undefined || value.startsWith("()") ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(kept), ...given };
}

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** The SDK recognises a pipe by this property and `pid`. */
  readonly stderr: StderrLog;
  readonly #options: StdioOptions;
  #child: ChildProcessWithoutNullStreams | undefined;
  #outbox = "";
  #flushing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: StdioOptions) {
    this.#options = options;
    this.stderr = options.stderr;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  async start(): Promise<void> {
    const { cmd, cwd, guard } = this.#options;
    const env = createStdioEnvironment(this.#options.env);
    const { command, args, isVerbatim } = isWindows
      ? toWindowsCommand(cmd, env, cwd === "" ? process.cwd() : cwd)
      : { ...toProgram(cmd), isVerbatim: false };
    const child = spawn(command, args, {
      env,
      ...(cwd === "" ? {} : { cwd }),
      stdio: "pipe",
      // Its own group: its children are killed with it, and signals for the host's group do not reach it.
      detached: !isWindows,
      windowsHide: true,
      windowsVerbatimArguments: isVerbatim,
    });
    this.#child = child;
    if (child.pid !== undefined && !isWindows) guard.add(child.pid);
    const lines = new LineReader(child.stdout, {
      maxLineBytes: this.#options.maxMessageBytes,
      maxLinesPerTurn: mcpLimits.maxMessagesPerTurn,
      maxUnreadable: mcpLimits.maxUnreadableLines,
      onMessage: (message) => this.onmessage?.(message as JSONRPCMessage),
      onProblem: (error) => this.onerror?.(error),
      onFatal: (error) => {
        this.onerror?.(error);
        void this.close();
      },
    });
    child.stderr.on("data", (chunk: Buffer) => this.stderr.write(chunk));
    for (const stream of [child.stdin, child.stdout, child.stderr])
      stream.on("error", (error) => this.onerror?.(error));
    child.on("exit", (code, signal) => {
      if (this.#closing === undefined)
        this.stderr.note(`(ended ${signal === null ? `with code ${code}` : `by ${signal}`})`);
      // Its children may hold its pipes open, so its exit is the end. Its remaining output is read first.
      if (!isWindows) killGroup(child.pid, "SIGKILL");
      if (child.pid !== undefined) guard.drop(child.pid);
      lines.finish(() => this.#closed());
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => {
        reject(error);
        this.onerror?.(error);
        this.#closed();
      });
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#closing !== undefined || !child.stdin.writable)
      return Promise.reject(new Error("the server has ended"));
    if (child.stdin.writableLength + this.#outbox.length > maxUnsentBytes(this.#options))
      return Promise.reject(new ServerDoesNotRead());
    this.#outbox += `${JSON.stringify(message)}\n`;
    this.#flushing ??= new Promise((resolve) => process.nextTick(() => this.#flush(child.stdin, resolve)));
    return this.#flushing;
  }

  /** All messages of one turn are one write: a system call costs more than the message. */
  #flush(stdin: Writable, then: () => void): void {
    const text = this.#outbox;
    this.#outbox = "";
    this.#flushing = undefined;
    if (stdin.destroyed || stdin.write(text)) return then();
    // If the server does not read, only its callers wait, each until its own timeout.
    const done = () => {
      stdin.off("drain", done).off("close", done);
      then();
    };
    stdin.on("drain", done).on("close", done);
  }

  /** Closes the input, then sends SIGTERM to the group, then SIGKILL. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.pid === undefined || child.exitCode !== null || child.signalCode !== null)
      return this.#closed();
    const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.stdin.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (await isDoneWithin(exited, mcpLimits.stopGraceMs)) break;
      killGroup(child.pid, signal);
    }
    await exited;
    this.#closed();
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closing ??= Promise.resolve();
    const { stdin, stdout, stderr } = this.#child ?? {};
    for (const stream of [stdin, stdout, stderr]) stream?.destroy();
    this.onclose?.();
  }
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  if (isWindows) {
    // Windows has no groups; taskkill finds the children of a .cmd file by their parent.
    if (signal === "SIGKILL")
      spawn("taskkill", ["/pid", String(pid), "/t", "/f"], { stdio: "ignore", windowsHide: true }).on(
        "error",
        () => {},
      );
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is empty.
  }
}

/** A server must not inherit terminals of other sessions. If the host holds none, the program is started directly. */
function toProgram([command, ...args]: readonly [string, ...string[]]): { command: string; args: string[] } {
  if (!holdsTerminals()) return { command, args };
  const { file, args: behindShell } = withoutInheritedFiles(command, args);
  return { command: file, args: behindShell };
}
