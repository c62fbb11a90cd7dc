// A conversation with the script in a child process, from its input to its end.
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { readReport } from "../../../machinery/processes/program-end.ts";
import { A2EError } from "../../../protocol/errors.ts";
import { createLineSplitter } from "../../../protocol/framing/ndjson.ts";
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
  /** Keeps its stdin open for answers; otherwise it ends after the input. */
  readonly usesLlm: boolean;
  readonly maxOutputBytes: number;
  /** Ends all that runs, at once. */
  kill(): void;
}

export interface TalkOutcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What the sandbox has reported of its end. */
  readonly report: string;
  /** The end of it. */
  readonly stderr: string;
  readonly result: ScriptResult | undefined;
  /** What it said, or did, that ended it. */
  readonly problem: string | undefined;
}

/** A script that has given its result may clean up for this long, and so may what it leaves behind. */
const graceMs = 1000;

/** Resolves when the process has ended; rejects with an Error where it could not be started. */
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
    // What it does not read stays in the memory of the host.
    if (child.stdin.writableLength > maxUnreadBytes) fail("it asks for completions and does not read the answers");
  };
  const answer = async (id: JsonValue, request: LlmRequest | string) => {
    try {
      if (!usesLlm) throw new A2EError("forbidden", "a skill that asks for completions must declare `llm: true`");
      if (typeof request === "string") throw new A2EError("schema_violation", request);
      writeAnswer({ type: "llm", id, ...(await host.askLlm(request)) });
    } catch (error) {
      const { code, message } = error instanceof A2EError ? error : new A2EError("internal_error", "no completion");
      writeAnswer({ type: "llm", id, error: { code, message } });
    }
  };
  const lines = createLineSplitter({
    maxLineBytes: skillLimits.maxLineBytes,
    onTooLong: () => fail(`a line is longer than ${skillLimits.maxLineBytes} bytes`),
    onLine(line) {
      // Its first word on the outcome is its last.
      if (result !== undefined || problem !== undefined) return;
      const message = parseScriptLine(line);
      if (message.type === "event") host.emit(message.event);
      else if (message.type === "llm") void answer(message.id, message.request);
      else {
        if (message.type === "result") result = message.result;
        else problem = message.message === "" ? "the script gave up without a reason" : message.message;
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
  // A script that does not read its input is no failure of ours.
  child.stdin.on("error", () => {});
  write(input);
  const maxUnreadBytes = child.stdin.writableLength + skillLimits.maxUnreadAnswerBytes;
  if (!usesLlm) child.stdin.end();

  host.signal.addEventListener("abort", kill, { once: true });
  return new Promise<TalkOutcome>((resolve, reject) => {
    child.on("error", reject);
    // What it started may hold its pipes open for ever; what it said itself has arrived by then.
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
