// Exchanges messages with a script in a child process, from its input to its exit.
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { createLineSplitter } from "../../../framing/ndjson.ts";
import { readReport } from "../../../machinery/processes/program-end.ts";
import { A2EError } from "../../../protocol/errors.ts";
import type { JsonValue } from "../../../protocol/json.ts";
import { skillLimits } from "../limits.ts";
import type { ScriptHost } from "./script-host.ts";
import {
  type InputLine,
  type LlmAnswerLine,
  type LlmRequest,
  parseScriptLine,
  type ScriptResult,
} from "./script-messages.ts";

export interface TalkSettings {
  readonly input: InputLine;
  /** Keeps the script's stdin open for completions; otherwise it is closed after the input. */
  readonly usesLlm: boolean;
  readonly maxOutputBytes: number;
  /** Kills the process and its children at once. */
  kill(): void;
}

export interface TalkOutcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The report of the sandbox about the exit of the script. */
  readonly report: string;
  /** The last part of stderr. */
  readonly stderr: string;
  readonly result: ScriptResult | undefined;
  /** Why the script was ended, if it printed too much or an invalid message. */
  readonly problem: string | undefined;
}

/** The time that a script has to clean up after its result, and that its children have after its exit. */
const graceMs = 1000;

/** Resolves when the process has ended; rejects with an Error if it could not be started. */
export function talkToScript(
  child: ChildProcessWithoutNullStreams,
  { input, usesLlm, maxOutputBytes, kill }: TalkSettings,
  host: ScriptHost,
): Promise<TalkOutcome> {
  let result: ScriptResult | undefined;
  let problem: string | undefined;
  let stderr = "";
  const report = readReport(child);
  let printedBytes = 0;
  let grace: NodeJS.Timeout | undefined;
  let linger: NodeJS.Timeout | undefined;

  const fail = (text: string) => {
    problem ??= text;
    kill();
  };
  const write = (line: InputLine | LlmAnswerLine) => {
    if (child.stdin.writable) child.stdin.write(`${JSON.stringify(line)}\n`);
  };
  const writeAnswer = (line: LlmAnswerLine) => {
    write(line);
    // An answer that the script does not read stays in the memory of the host.
    if (child.stdin.writableLength > maxUnreadBytes) fail("it requests completions and does not read the answers");
  };
  const answer = async (id: JsonValue, request: LlmRequest | string) => {
    try {
      if (!usesLlm) throw new A2EError("forbidden", "a skill that requests completions must declare `llm: true`");
      if (typeof request === "string") throw new A2EError("schema_violation", request);
      writeAnswer({ type: "llm", id, ...(await host.askLlm(request)) });
    } catch (error) {
      const { code, message } =
        error instanceof A2EError ? error : new A2EError("internal_error", "the completion failed");
      writeAnswer({ type: "llm", id, error: { code, message } });
    }
  };
  const lines = createLineSplitter({
    maxLineBytes: skillLimits.maxLineBytes,
    onTooLong: () => fail(`a line is longer than ${skillLimits.maxLineBytes} bytes`),
    onLine(line) {
      // Only the first result or error counts.
      if (result !== undefined || problem !== undefined) return;
      const message = parseScriptLine(line);
      if (message.type === "event") host.emit(message.event);
      else if (message.type === "llm") void answer(message.id, message.request);
      else {
        if (message.type === "result") result = message.result;
        else problem = message.message === "" ? "the script reported an error without a message" : message.message;
        child.stdin.end();
        grace = setTimeout(kill, graceMs);
      }
    },
  });

  child.stdout.on("data", (chunk: Buffer) => {
    printedBytes += chunk.length;
    if (printedBytes > maxOutputBytes) fail(`it printed more than ${maxOutputBytes} bytes`);
    else if (problem === undefined) lines.push(chunk);
  });
  child.stderr.on("data", (chunk: Buffer) => {
    printedBytes += chunk.length;
    if (printedBytes > maxOutputBytes) fail(`it printed more than ${maxOutputBytes} bytes`);
    stderr = (stderr + chunk.toString("utf8")).slice(-skillLimits.maxStderrLength);
  });
  // A script may ignore its input.
  child.stdin.on("error", () => {});
  write(input);
  const maxUnreadBytes = child.stdin.writableLength + skillLimits.maxUnreadAnswerBytes;
  if (!usesLlm) child.stdin.end();

  host.signal.addEventListener("abort", kill, { once: true });
  return new Promise<TalkOutcome>((resolve, reject) => {
    child.on("error", reject);
    // Children of the script may hold its pipes open for ever; its own output has arrived by then.
    child.on("exit", () => {
      linger = setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
        report.close();
      }, graceMs);
    });
    child.on("close", (code, signal) => {
      lines.end();
      resolve({ code, signal, report: report.text, stderr, result, problem });
    });
  }).finally(() => {
    clearTimeout(grace);
    clearTimeout(linger);
    host.signal.removeEventListener("abort", kill);
  });
}
