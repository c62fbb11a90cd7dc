// An agent's end of a pipe to a host that it starts itself.

import { createTextLineSplitter } from "../../framing/text-lines.ts";
import { encodeMessage } from "../../protocol/codec.ts";
import type { Message } from "../../protocol/envelope.ts";
import { parseJson } from "../../protocol/json.ts";
import type { Transport, TransportEvents } from "../../protocol/transport.ts";
import { oncePerTurn } from "../turn.ts";
import { checkRoom } from "../waiting-lines.ts";
import { type PipedChild, startPipedChild } from "./piped-child.ts";

export interface SubprocessOptions {
  command: string;
  args?: readonly string[];
  /** Added to the environment of this process. */
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  /**
   * Receives the child's stderr. Its last lines are in the error when the child dies, with or without this callback.
   */
  onStderr?(text: string): void;
  /** Longest line accepted from the child; a longer line ends the link. */
  maxLineLength?: number;
  /** How long the child may take to leave once its input has ended, and again after SIGTERM. */
  exitTimeoutMs?: number;
  killTimeoutMs?: number;
}

const stderrTailLength = 4096;
/** Some hosts print each message behind this. */
const linePrefix = "line: ";

export function createSubprocessTransport(options: SubprocessOptions): Transport {
  const {
    command,
    args = [],
    maxLineLength = 64 * 1024 * 1024,
    exitTimeoutMs = 3_000,
    killTimeoutMs = 2_000,
  } = options;
  let state: "new" | "opening" | "open" | "closing" | "closed" = "new";
  let child: PipedChild | undefined;
  let events: TransportEvents | undefined;
  let exited: Promise<void> = Promise.resolve();
  let stderrTail = "";
  let outgoing = "";
  let closing: Promise<void> | undefined;
  // A write to a pipe is cheap and the reader waits for it: a microtask is enough to combine lines of the same turn.
  const flushSoon = oncePerTurn(flush, queueMicrotask);

  return {
    async open(listener) {
      if (state !== "new") throw new Error("transport was opened already");
      state = "opening";
      try {
        child = await start();
      } catch (cause) {
        state = "closed";
        throw new Error(explain(cause as NodeJS.ErrnoException, options), { cause });
      }
      if (state !== "opening") {
        child.process.kill("SIGKILL");
        await exited;
        throw new Error("transport was closed before it was open");
      }
      state = "open";
      events = listener;
    },
    send(message) {
      if (state !== "open" || child === undefined) throw new Error("transport is not open");
      const line = encodeMessage(message);
      checkRoom(outgoing.length + child.stdin.writableLength, line);
      outgoing += `${line}\n`;
      flushSoon();
    },
    close() {
      closing ??= stop();
      return closing;
    },
  };

  function start(): Promise<PipedChild> {
    const env = { ...process.env, ...options.env };
    return startPipedChild({ command, args, env, cwd: options.cwd }, (started) => {
      exited = started.closed.then(({ code, signal }) => end(new Error(describeExit(code, signal))));
      const splitter = createTextLineSplitter({
        maxLineLength,
        onLine: receive,
        onTooLong: () => {
          started.process.kill("SIGKILL");
          end(new Error(`the host sent a line of more than ${maxLineLength} characters`));
        },
      });
      started.stdout.on("data", splitter.push).on("end", splitter.end);
      // Always read: a child stops when 64 kB of its stderr are not read.
      started.stderr.setEncoding("utf8").on("data", (text: string) => {
        stderrTail = (stderrTail + text).slice(-stderrTailLength);
        options.onStderr?.(text);
      });
    });
  }

  function flush(): void {
    if (outgoing === "" || child === undefined) return;
    const text = outgoing;
    outgoing = "";
    child.write(text);
  }

  function receive(line: string): void {
    if (state !== "open") return;
    const json = line.startsWith(linePrefix) ? line.slice(linePrefix.length) : line;
    if (json.charCodeAt(0) !== 0x7b) return; // Greetings and logs of hosts that do not keep stdout clean.
    let message: Message;
    try {
      message = parseJson(json) as Message;
    } catch {
      return;
    }
    events?.receive(message);
  }

  function end(reason?: Error): void {
    if (state === "closed") return;
    const isExpected = state === "closing";
    state = "closed";
    events?.closed(isExpected ? undefined : reason);
  }

  function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
    const how = signal === null ? `exit code ${code}` : signal;
    const said = stderrTail.trim();
    return `the host process ended with ${how}${said === "" ? "" : `; the end of its stderr: ${said}`}`;
  }

  async function stop(): Promise<void> {
    if (state === "new" || state === "opening") state = "closed";
    if (child === undefined) return;
    flush();
    if (state === "open") state = "closing";
    child.stdin.end();
    if (await isOver(exitTimeoutMs)) return;
    child.process.kill("SIGTERM");
    if (await isOver(killTimeoutMs)) return;
    child.process.kill("SIGKILL");
    // A grandchild may hold the pipes open; it is not ours to wait for.
    for (const pipe of [child.stdout, child.stderr]) pipe.destroy();
    // Nor is a child that cannot be killed, because it runs as another user.
    await isOver(killTimeoutMs);
  }

  async function isOver(timeoutMs: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), timeoutMs);
    });
    return Promise.race([exited.then(() => true), late]).finally(() => clearTimeout(timer));
  }
}

function explain(cause: NodeJS.ErrnoException, { command, cwd }: SubprocessOptions): string {
  if (cause.code === "ENOENT") {
    return cwd === undefined ? `command not found: ${command}` : `command not found: ${command}, or no folder ${cwd}`;
  }
  return cause.code === "EACCES" ? `not executable: ${command}` : `could not start ${command}: ${cause.message}`;
}
