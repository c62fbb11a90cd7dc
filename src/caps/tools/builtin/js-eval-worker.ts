// The part of js_eval that runs in a worker.
import type { QuickJSContext, QuickJSHandle } from "quickjs-emscripten-core";
import { openQuickJs, runPendingJobs, ScriptError, toScriptError, unwrap } from "../../../machinery/quickjs.ts";
import type { WorkerContext } from "../../../machinery/threads/worker-entry.ts";
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

const maxLogLength = 2000;

/**
 * Runs in the sandbox before the script: defines its console, and saves the JSON functions before the script can change
 * them.
 */
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
  const { context, run } = await openQuickJs(args);
  try {
    return run(() => runScript(context, args, send));
  } catch (error) {
    if (error instanceof ScriptError) return { error: error.message };
    throw error;
  }
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
      `the result has ${json.length} characters of JSON, more than ${args.maxResultLength}; return less`,
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

/**
 * The value of a promise, after the jobs that the script queued have run; there is nothing else that it could wait for.
 */
function settle(context: QuickJSContext, value: QuickJSHandle): QuickJSHandle {
  runPendingJobs(context);
  const state = context.getPromiseState(value);
  if (state.type === "fulfilled") return state.notAPromise === true ? value : state.value;
  if (state.type === "rejected") throw toScriptError(context, state.error);
  throw new ScriptError("the last expression is a promise that is never resolved");
}
