// An MCP server as a child process. The SDK has such a transport too; this one gives the child a process group of its own
// and ends all of it, keeps its stderr short and at hand, takes turns with the rest of the host when the child floods it,
// and asks which revision it speaks on the same process where the SDK starts a second one.
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

/** All that a server gets of the host's environment: what programs need to be found and to speak the user's language. */
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
  /** The SDK tells a pipe from a network by these two. */
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
      // A group of its own: what it starts itself ends with it, and what is meant for the host does not reach it.
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
      // What it started may hold its pipes open: its own end is the end. What it wrote before is read first.
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

  /** All that is sent in one turn is one write: a call to the system costs more than the message. */
  #flush(stdin: Writable, then: () => void): void {
    const text = this.#outbox;
    this.#outbox = "";
    this.#flushing = undefined;
    if (stdin.destroyed || stdin.write(text)) return then();
    // Nobody is held up by a server that does not read but those who call it, each until its own time is over.
    const done = () => {
      stdin.off("drain", done).off("close", done);
      then();
    };
    stdin.on("drain", done).on("close", done);
  }

  /** Closes its input, then asks its group to end, then ends it. */
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
    // Windows has no groups; what a .cmd file started is found by who started it.
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
    // Nobody is left in it.
  }
}

/** Terminals of other sessions are none of a server's business. Without any, it starts as it is. */
function toProgram([command, ...args]: readonly [string, ...string[]]): { command: string; args: string[] } {
  if (!holdsTerminals()) return { command, args };
  const { file, args: behindShell } = withoutInheritedFiles(command, args);
  return { command: file, args: behindShell };
}
