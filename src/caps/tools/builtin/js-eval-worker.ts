// The part of js_eval that runs in a worker: one fresh QuickJS in one fresh WebAssembly instance per script, so that nothing
// one script leaves behind, not even in memory it corrupted, reaches the next.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import sandboxVariant from "@jitl/quickjs-wasmfile-release-sync";
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
} from "quickjs-emscripten-core";
import type { WorkerContext } from "../../../host/workers/worker-entry.ts";
import { A2EError } from "../../../protocol/errors.ts";
import { toolLimits } from "../limits.ts";

export interface JsEvalArguments {
  code: string;
  /** JSON. */
  input: string;
  memoryBytes: number;
  timeoutMs: number;
  maxResultLength: number;
}

export interface JsEvalLog {
  level: string;
  text: string;
}

export type JsEvalResult = { json: string } | { error: string };

// The types of the package describe its CommonJS build, in which the default is one level deeper.
const variant = sandboxVariant as unknown as typeof sandboxVariant.default;

/** Compiling takes ten times as long as instantiating; the compiled code is immutable and so may be shared. */
let compiled: Promise<WebAssembly.Module> | undefined;

const pageBytes = 64 * 1024;
/** 16 MB: what the build of QuickJS asks for at least. */
const initialPages = 256;
const stackBytes = 512 * 1024;
const maxLogLength = 2000;

/** Runs in the sandbox before the script: its console, and how values become JSON whatever the script does to `JSON`. */
const prelude = `(print, inputJson) => {
  const { parse, stringify } = JSON;
  const show = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return String(value);
    try { return stringify(value) ?? String(value); } catch { return String(value); }
  };
  const write = (level) => (...values) => print(level, values.map(show).join(" "));
  globalThis.console = { log: write("info"), info: write("info"), debug: write("debug"), warn: write("warn"), error: write("error") };
  globalThis.input = parse(inputJson);
  return (value) => stringify(value) ?? "null";
}`;

export async function evaluate(args: JsEvalArguments, { send }: WorkerContext): Promise<JsEvalResult> {
  compiled ??= compileSandbox();
  // QuickJS in WebAssembly counts its allocations, not their sizes, so its own limit lets many small ones pass; memory that
  // cannot grow lets none.
  const pages = Math.max(initialPages, Math.ceil(args.memoryBytes / pageBytes));
  const wasmMemory = new WebAssembly.Memory({ initial: initialPages, maximum: pages });
  const quickJs = await newQuickJSWASMModuleFromVariant(
    newVariant(variant, { wasmModule: await compiled, wasmMemory }),
  );
  const runtime = quickJs.newRuntime();
  const deadline = Date.now() + args.timeoutMs;
  let isOverdue = false;
  runtime.setMemoryLimit(args.memoryBytes);
  runtime.setMaxStackSize(stackBytes);
  runtime.setInterruptHandler(() => {
    isOverdue ||= Date.now() > deadline;
    return isOverdue;
  });
  // Never disposed: the whole WebAssembly instance is dropped, and disposing asserts on what a script that was cut off left over.
  const context = runtime.newContext();
  try {
    return runScript(context, args, send);
  } catch (error) {
    if (isOverdue) throw new A2EError("timeout", `the script ran longer than ${args.timeoutMs / 1000} s`);
    if (isOutOfMemory(error, wasmMemory.buffer.byteLength >= pages * pageBytes)) {
      const megabytes = args.memoryBytes / 1024 / 1024;
      throw new A2EError("out_of_memory", `the script needed more than its ${megabytes} MB of memory`);
    }
    if (error instanceof ScriptError) return { error: error.message };
    throw error;
  }
}

async function compileSandbox(): Promise<WebAssembly.Module> {
  const path = createRequire(import.meta.url).resolve("@jitl/quickjs-wasmfile-release-sync/wasm");
  return WebAssembly.compile(await readFile(path));
}

/** What the script itself threw. */
class ScriptError extends Error {}

/** With no memory left there is none for an error either: what was thrown then reads as empty. */
function isOutOfMemory(error: unknown, isFull: boolean): boolean {
  if (!(error instanceof Error)) return false;
  return /out of memory/i.test(error.message) || (isFull && error.message === "uncaught ");
}

function runScript(context: QuickJSContext, args: JsEvalArguments, send: WorkerContext["send"]): JsEvalResult {
  const toJson = unwrap(
    context,
    context.callFunction(
      unwrap(context, context.evalCode(prelude, "prelude.js")),
      context.undefined,
      createPrint(context, send),
      context.newString(args.input),
    ),
  );
  const value = settle(context, unwrap(context, context.evalCode(args.code, "script.js", { type: "global" })));
  const json = context.getString(unwrap(context, context.callFunction(toJson, context.undefined, value)));
  if (json.length > args.maxResultLength) {
    throw new ScriptError(
      `the result takes ${json.length} characters of JSON, more than ${args.maxResultLength}; return less`,
    );
  }
  return { json };
}

function createPrint(context: QuickJSContext, send: WorkerContext["send"]): QuickJSHandle {
  let lines = 0;
  return context.newFunction("print", (level, text) => {
    lines++;
    if (lines > toolLimits.jsMaxLogLines) return;
    const shown = context.getString(text).slice(0, maxLogLength);
    const log: JsEvalLog = { level: context.getString(level), text: shown };
    send(lines === toolLimits.jsMaxLogLines ? { ...log, text: `${shown} (further lines are left out)` } : log);
  });
}

/** The value of a promise, once the jobs that the script queued have run; there is nothing else it could wait for. */
function settle(context: QuickJSContext, value: QuickJSHandle): QuickJSHandle {
  const jobs = context.runtime.executePendingJobs();
  if (jobs.error) throw toScriptError(jobs.error.context, jobs.error);
  const state = context.getPromiseState(value);
  if (state.type === "fulfilled") return state.notAPromise === true ? value : state.value;
  if (state.type === "rejected") throw toScriptError(context, state.error);
  throw new ScriptError("the last expression is a promise that nothing will ever resolve");
}

function unwrap(context: QuickJSContext, result: ReturnType<QuickJSContext["evalCode"]>): QuickJSHandle {
  if (result.error) throw toScriptError(context, result.error);
  return result.value;
}

function toScriptError(context: QuickJSContext, handle: QuickJSHandle): ScriptError {
  const thrown: unknown = context.dump(handle);
  if (typeof thrown !== "object" || thrown === null) return new ScriptError(`uncaught ${String(thrown ?? "")}`);
  const { name = "Error", message = "", stack = "" } = thrown as { name?: unknown; message?: unknown; stack?: unknown };
  const place = /script\.js:(\d+(?::\d+)?)/.exec(String(stack))?.[1];
  return new ScriptError(
    `${String(name)}: ${String(message)}${place === undefined ? "" : ` (at ${place})`}`.slice(0, maxLogLength),
  );
}
