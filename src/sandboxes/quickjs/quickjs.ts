// Runs small JavaScript in its own interpreter, in a worker thread: without files, network, timers or processes, only
// with the language and the functions that the host provides.
import { MessageChannel } from "node:worker_threads";
import { siblingModule } from "../../machinery/threads/thread-entry.ts";
import { WorkerPool } from "../../machinery/threads/worker-pool.ts";
import type { SandboxLimits, ScriptRun, ScriptSandbox } from "../../plugin/ports/sandbox.ts";
import { A2EError, messageOf } from "../../protocol/errors.ts";
import { copyJson, isDeeperThan, type JsonValue, parseJson } from "../../protocol/json.ts";
import type { HostAnswer, HostCall, QuickJsJob } from "./quickjs-worker.ts";

/**
 * The script enforces its timeout itself; its worker is terminated only if that fails, for example in a long native
 * operation.
 */
const backstopMs = 2_000;

/** The interpreter shares the host's process, so it gets less than a program may have. */
const maxMemoryBytes = 128 * 1024 * 1024;
const maxCpuSeconds = 60;

/** Depth of values from a script: deeper than any message that a host accepts, but far from overflowing the stack. */
const maxDepth = 256;

/** Scripts that run at once. Many of them only wait for an answer of the host. */
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
    if (called === undefined) throw new Error(`unknown function ${name}`);
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

/**
 * The JSON comes from the interpreter, so it is valid: parsing fails only if it is nested so deeply that the stack
 * overflows.
 */
function tryParse(json: string): JsonValue | undefined {
  try {
    return parseJson(json);
  } catch {
    return undefined;
  }
}
