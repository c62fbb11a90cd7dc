// A session with a host that is our child process: lines on its stdin, lines on its stdout, one session per process.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createLineSplitter } from "../../framing/ndjson.ts";
import type { Link, LinkEvents, OpenLink } from "../link.ts";
import type { Traffic } from "../traffic.ts";

export interface StdioLink extends Link {
  /** Ends the input; the host should answer the requests it has and exit. */
  endInput(): void;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with the exit code, null after a signal, undefined if it did not exit in time. */
  exited(timeoutMs: number): Promise<number | null | undefined>;
}

/** How much of stderr is shown if a host has died. */
const maxLastWords = 400;

export function createStdioLinks(command: string, traffic: Traffic): OpenLink {
  return (events) => openStdio(command, traffic, events);
}

export async function openStdio(command: string, traffic: Traffic, events: LinkEvents): Promise<StdioLink> {
  const [file = "", ...args] = splitCommandLine(command);
  const child = spawn(file, args, { stdio: "pipe" });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) => reject(new Error(`could not run ${file}: ${error.message}`)));
  });
  const record: Traffic["children"][number] = { stderrBytes: 0, exitCode: undefined };
  traffic.children.push(record);
  let isClosed = false;
  let lastWords = "";
  const exit = new Promise<number | null>((resolve) => {
    child.once("close", (code) => {
      record.exitCode = code;
      if (!isClosed)
        events.ended(
          `the host left with exit code ${code}${lastWords === "" ? "" : `, saying: ${lastWords.replace(/\s+/g, " ").trim()}`}`,
        );
      resolve(code);
    });
  });
  // Writing to a host that has left is the requirement's failure to notice, not a crash of the suite.
  child.stdin.on("error", () => {});
  child.stderr.on("data", (chunk: Buffer) => {
    record.stderrBytes += chunk.length;
    lastWords = (lastWords + chunk.toString("utf8")).slice(-maxLastWords);
  });
  const splitter = createLineSplitter({
    maxLineBytes: 64 * 1024 * 1024,
    onLine: (line) => events.line(line),
    onTooLong: () => child.kill("SIGKILL"),
  });
  child.stdout.on("data", (chunk: Buffer) => splitter.push(chunk));
  child.stdout.on("end", () => splitter.end());
  return {
    sessionId: undefined,
    write: (text) => void child.stdin.write(`${text}\n`),
    async writePieces(pieces) {
      for (const piece of pieces)
        await new Promise<void>((resolve) => child.stdin.write(piece, () => setImmediate(resolve)));
    },
    endInput: () => child.stdin.end(),
    kill: (signal) => void child.kill(signal),
    exited: (timeoutMs) => within(exit, timeoutMs),
    async close() {
      isClosed = true;
      await stop(child, exit);
    },
  };
}

async function stop(child: ChildProcessWithoutNullStreams, exit: Promise<unknown>): Promise<void> {
  child.stdin.end();
  if ((await within(exit, 2_000)) !== undefined) return;
  child.kill("SIGTERM");
  if ((await within(exit, 2_000)) !== undefined) return;
  child.kill("SIGKILL");
  await exit;
}

function within<Value>(promise: Promise<Value>, timeoutMs: number): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, undefined);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const word = /(?:[^\s"']+|"[^"]*"|'[^']*')+/g;

/** Splits a command line into words; quotes hold words together. No shell, so that a kill reaches the host itself. */
export function splitCommandLine(command: string): string[] {
  return [...command.matchAll(word)].map(([text]) => text.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}
