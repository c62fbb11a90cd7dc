// Small JavaScript in an interpreter of its own, in a worker thread: there is no file, network, timer or process in it, only
// the language and the functions that the host lends it.
import { MessageChannel } from "node:worker_threads";
import type { SandboxLimits, ScriptRun, ScriptSandbox } from "../../host/ports/sandbox.ts";
import { siblingModule } from "../../machinery/threads/thread-entry.ts";
import { WorkerPool } from "../../machinery/threads/worker-pool.ts";
import { A2EError, messageOf } from "../../protocol/errors.ts";
import { copyJson, isDeeperThan, type JsonValue, parseJson } from "../../protocol/json.ts";
import type { HostAnswer, HostCall, QuickJsJob } from "./quickjs-worker.ts";

/** The script watches its time itself; its worker is ended only where that fails, as in one long native operation. */
const backstopMs = 2_000;

/** An interpreter in the host's own process: less than what a program may have. */
const maxMemoryBytes = 128 * 1024 * 1024;
const maxCpuSeconds = 60;

/** Of what a script hands out: deeper than any message that a host takes, far from the end of the stack. */
const maxDepth = 256;

/** Scripts at once. Many of them do nothing but wait for an answer of the host. */
const maxScripts = 8;

export function createQuickJs({ defaults }: { defaults: SandboxLimits }): ScriptSandbox {
  const pool = new WorkerPool({ size: maxScripts });
  return {
    kind: "script",
    name: "quickjs",
    run: (script) => runScript(script, pool, defaults),
    close: () => pool.close(),
  };
}

async function runScript(script: ScriptRun, pool: WorkerPool, defaults: SandboxLimits): Promise<JsonValue> {
  const { source, input, functions = {}, limits, signal } = script;
  const timeoutMs = 1000 * (limits.cpuSeconds ?? Math.min(defaults.cpuSeconds, maxCpuSeconds));
  const { port1: ours, port2: port } = new MessageChannel();
  ours.on("message", (call: HostCall) => void answer(call, functions).then((reply) => ours.postMessage(reply)));
  const hung = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const args: QuickJsJob = {
    source,
    input: JSON.stringify(input),
    memoryBytes: limits.memoryBytes ?? Math.min(defaults.memoryBytes, maxMemoryBytes),
    timeoutMs,
    functionNames: Object.keys(functions),
    port,
  };
  try {
    const job = { module: siblingModule("quickjs-worker", import.meta.url), exportName: "runModule", args };
    const json = await pool.run(
      { ...job, transfer: [port] },
      {
        signal: AbortSignal.any([signal, hung.signal]),
        onMessage(turn) {
          clearTimeout(timer);
          if (turn !== "script") return;
          const late = new A2EError("timeout", `the script ran longer than ${timeoutMs / 1000} s`);
          timer = setTimeout(() => hung.abort(late), timeoutMs + backstopMs);
        },
      },
    );
    return readValue(String(json));
  } finally {
    clearTimeout(timer);
    ours.close();
  }
}

async function answer({ id, name, argument }: HostCall, functions: ScriptRun["functions"]): Promise<HostAnswer> {
  try {
    const called = functions !== undefined && Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (called === undefined) throw new Error(`there is no function ${name}`);
    return { id, json: JSON.stringify(copyJson(await called(readValue(argument)))) };
  } catch (error) {
    return { id, error: messageOf(error) };
  }
}

function readValue(json: string): JsonValue {
  const value = tryParse(json);
  if (value !== undefined && !isDeeperThan(value, maxDepth)) return value;
  throw new A2EError("runtime_error", `the script has made a value that is nested deeper than ${maxDepth}`);
}

/** It is JSON of the interpreter's own making: what cannot be parsed is so deep that the stack ends. */
function tryParse(json: string): JsonValue | undefined {
  try {
    return parseJson(json);
  } catch {
    return undefined;
  }
}
