// Runs a program to its end and collects its output.
import { A2EError } from "../../../../protocol/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../protocol/json.ts";
import type { RunPort } from "../run-port.ts";
import { procFailed } from "./node-error.ts";

/** How long a read waits for output. */
const readWaitMs = 10_000;

/** Characters of each stream in the error of a failed program, since the size of an error is limited. */
const errorTailLength = 2000;

interface ProcSettings {
  readonly name: string;
  readonly input: JsonObject;
  readonly timeoutMs: number;
  readonly key: string;
  readonly signal: AbortSignal;
  readonly maxBytes: number;
}

export async function runProgram(port: RunPort, settings: ProcSettings): Promise<JsonValue> {
  const { input, key, signal, timeoutMs } = settings;
  const cmd = toCommand(settings.name, input);
  const stdin = typeof input.stdin === "string" ? input.stdin : undefined;
  // Not aborted with the run: a program that starts while the run ends would never be killed.
  const spawned = await port.callBeside(
    "proc/spawn/req",
    {
      cmd,
      cwd: typeof input.cwd === "string" ? input.cwd : "",
      env: isJsonObject(input.env) ? input.env : {},
      stdin_mode: stdin === undefined ? "null" : "pipe",
      timeout: timeoutMs / 1000,
      events: false,
    },
    key,
  );
  const name = cmd[0] ?? "";
  const proc_id = String(spawned.proc_id ?? "");
  if (spawned.ok === false || proc_id === "") throw procFailed(name, `did not start: ${spawned.error ?? ""}`, {});
  let isOver = false;
  // The call that spawned the program was answered long ago, so only this stops the program.
  const kill = () => {
    if (isOver) return;
    isOver = true;
    port.callBeside("proc/kill/req", { proc_id, signal: "SIGKILL" }).catch(() => {});
  };
  signal.addEventListener("abort", kill, { once: true });
  try {
    signal.throwIfAborted();
    if (stdin !== undefined) await feed(port, proc_id, stdin, signal);
    const result = await readToEnd(port, proc_id, settings);
    isOver = true;
    return judge(name, result);
  } finally {
    kill();
    signal.removeEventListener("abort", kill);
  }
}

async function feed(port: RunPort, proc_id: string, data: string, signal: AbortSignal): Promise<void> {
  try {
    await port.call("proc/write/req", { proc_id, data, eof: true }, { signal });
  } catch (error) {
    // The program ended without reading its input; its exit code decides whether it failed.
    if (!(error instanceof A2EError) || error.code !== "proc_dead") throw error;
  }
}

/** `cmd` as a list, or the node's name with `args`; never a command line for a shell. */
function toCommand(name: string, { cmd, args }: JsonObject): string[] {
  if (Array.isArray(cmd)) return cmd.map(String);
  const program = typeof cmd === "string" ? cmd : name;
  return [program, ...(Array.isArray(args) ? args.map(String) : [])];
}

type ProcResult = {
  proc_id: string;
  exit_code: JsonValue;
  signal: string;
  error: string;
  stdout: string;
  stderr: string;
  truncated: boolean;
};

async function readToEnd(port: RunPort, proc_id: string, { signal, maxBytes }: ProcSettings): Promise<ProcResult> {
  const texts = { stdout: "", stderr: "" };
  let truncated = false;
  let cursor = 0;
  let left = maxBytes;
  for (;;) {
    const read = await port.call("proc/read/req", { proc_id, cursor, wait_ms: readWaitMs }, { signal });
    for (const chunk of Array.isArray(read.chunks) ? read.chunks : []) {
      if (!isJsonObject(chunk)) continue;
      const text = typeof chunk.text === "string" ? chunk.text : "";
      if (left <= 0 || typeof chunk.base64 === "string") truncated = true;
      else texts[chunk.stream_type === "stderr" ? "stderr" : "stdout"] += text.slice(0, left);
      left -= text.length;
    }
    if (Number(read.missed ?? 0) > 0 || left < 0) truncated = true;
    cursor = Number(read.next_cursor ?? cursor);
    if (read.eof !== true) continue;
    const { exit_code = null, signal: endedBy = "", error = "" } = read;
    return { proc_id, exit_code, signal: String(endedBy), error: String(error), ...texts, truncated };
  }
}

function judge(name: string, result: ProcResult): JsonValue {
  const { exit_code, signal, error } = result;
  if (exit_code === 0 && error === "") return result;
  const how =
    error !== "" ? `ended by ${error}` : signal !== "" ? `was ended by ${signal}` : `ended with code ${exit_code}`;
  throw procFailed(name, how, { ...result, stdout: tail(result.stdout), stderr: tail(result.stderr) });
}

/** The last lines of a failed program usually contain the reason. */
function tail(text: string): string {
  return text.slice(-errorTailLength);
}
