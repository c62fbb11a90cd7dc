// The part of the script sandbox that runs in a worker. Functions of the host are called over a separate port.
import type { MessagePort } from "node:worker_threads";
import type { QuickJSContext, QuickJSDeferredPromise, QuickJSHandle } from "quickjs-emscripten-core";
import {
  openQuickJs,
  type QuickJs,
  runPendingJobs,
  ScriptError,
  toScriptError,
  unwrap,
} from "../../machinery/quickjs.ts";
import type { WorkerContext } from "../../machinery/threads/worker-entry.ts";
import { A2EError } from "../../protocol/errors.ts";

export interface QuickJsJob {
  source: string;
  /** JSON. */
  input: string;
  memoryBytes: number;
  timeoutMs: number;
  functionNames: readonly string[];
  port: MessagePort;
}

/** Sent from the worker. */
export interface HostCall {
  id: number;
  name: string;
  /** JSON. */
  argument: string;
}

/** Sent to the worker. */
export type HostAnswer = { id: number; json: string } | { id: number; error: string };

/** Calls of the host without an answer; a script that does not wait for answers must not fill the host's memory. */
const maxPendingCalls = 256;

/**
 * Characters of JSON that a script may send to the host at once, as calls or as its result: the host copies and parses
 * them.
 */
const maxLength = 8 * 1024 * 1024;

/** The globals of a script in addition to the language: its functions, and a console without output. */
const prelude = `(call, names) => {
  const { parse, stringify } = JSON;
  const ignore = () => {};
  globalThis.console = { log: ignore, info: ignore, debug: ignore, warn: ignore, error: ignore };
  for (const name of parse(names)) {
    globalThis[name] = async (argument) => parse(await call(name, stringify(argument) ?? "null"));
  }
  return { parse, toJson: (value) => stringify(value) ?? "null" };
}`;

/**
 * Resolves with JSON. Messages report whether the script or the host is active: the script can hang only while it is
 * active.
 */
export async function runModule(job: QuickJsJob, { send }: WorkerContext): Promise<string> {
  const quickJs = await openQuickJs(job);
  try {
    return await new ModuleRun(quickJs, job, send).finish();
  } catch (error) {
    if (error instanceof ScriptError) throw new A2EError("runtime_error", error.message);
    if (error instanceof A2EError) throw error;
    // This thread's stack overflowed, or WebAssembly trapped.
    throw new A2EError("sandbox_crash", `the interpreter failed: ${error instanceof Error ? error.message : error}`);
  } finally {
    job.port.close();
  }
}

class ModuleRun {
  readonly #quickJs: QuickJs;
  readonly #context: QuickJSContext;
  readonly #job: QuickJsJob;
  readonly #send: WorkerContext["send"];
  readonly #pending = new Map<number, { promise: QuickJSDeferredPromise; length: number }>();
  readonly #answers: HostAnswer[] = [];
  #wake: (() => void) | undefined;
  #count = 0;
  #pendingLength = 0;

  constructor(quickJs: QuickJs, job: QuickJsJob, send: WorkerContext["send"]) {
    this.#quickJs = quickJs;
    this.#context = quickJs.context;
    this.#job = job;
    this.#send = send;
    job.port.on("message", (answer: HostAnswer) => {
      this.#answers.push(answer);
      this.#wake?.();
    });
  }

  async finish(): Promise<string> {
    const { source, input, functionNames } = this.#job;
    const context = this.#context;
    const tools = this.#turn(() => {
      const names = context.newString(JSON.stringify(functionNames));
      const prepare = unwrap(context, context.evalCode(prelude, "prelude.js"));
      return unwrap(context, context.callFunction(prepare, context.undefined, this.#createCall(), names));
    });
    const parse = context.getProp(tools, "parse");
    const toJson = context.getProp(tools, "toJson");
    const loaded = this.#turn(() => unwrap(context, context.evalCode(source, "script.js", { type: "module" })));
    const module = await this.#settled(loaded);
    const main = context.getProp(module, "default");
    if (context.typeof(main) !== "function") {
      throw new ScriptError("the script has no function as its default export");
    }
    const started = this.#turn(() => {
      const argument = unwrap(context, context.callFunction(parse, context.undefined, context.newString(input)));
      return unwrap(context, context.callFunction(main, context.undefined, argument));
    });
    const value = await this.#settled(started);
    return this.#turn(() => {
      const json = unwrap(context, context.callFunction(toJson, context.undefined, value));
      if (this.#lengthOf(json) > maxLength)
        throw new ScriptError(`the script returned more than ${maxLength} characters of JSON`);
      return context.getString(json);
    });
  }

  #turn<T>(work: () => T): T {
    this.#send("script");
    try {
      return this.#quickJs.run(work);
    } finally {
      this.#send("host");
    }
  }

  /** The value of a promise of the script, after the host has answered all calls that it needs. */
  async #settled(value: QuickJSHandle): Promise<QuickJSHandle> {
    for (;;) {
      this.#turn(() => runPendingJobs(this.#context));
      const state = this.#context.getPromiseState(value);
      if (state.type === "fulfilled") return state.notAPromise === true ? value : state.value;
      if (state.type === "rejected") {
        // Thrown inside of run(), which recognises the end of memory or time.
        return this.#quickJs.run(() => {
          throw toScriptError(this.#context, state.error);
        });
      }
      if (this.#pending.size === 0) throw new ScriptError("the script waits for a promise that is never resolved");
      await this.#answered();
      for (const answer of this.#answers.splice(0)) this.#receive(answer);
    }
  }

  async #answered(): Promise<void> {
    if (this.#answers.length > 0) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  #receive(answer: HostAnswer): void {
    const call = this.#pending.get(answer.id);
    if (call === undefined) return;
    this.#pending.delete(answer.id);
    this.#pendingLength -= call.length;
    const { promise } = call;
    if ("json" in answer) promise.resolve(this.#context.newString(answer.json));
    else promise.reject(this.#context.newError(answer.error));
  }

  /** Read before the text is copied out of the interpreter. */
  #lengthOf(text: QuickJSHandle): number {
    return this.#context.getNumber(this.#context.getProp(text, "length"));
  }

  #createCall(): QuickJSHandle {
    const context = this.#context;
    return context.newFunction("call", (name, argument) => {
      if (this.#pending.size >= maxPendingCalls) {
        throw new Error(`more than ${maxPendingCalls} calls of host functions are pending`);
      }
      const length = this.#lengthOf(argument);
      if (this.#pendingLength + length > maxLength) {
        throw new Error(`pending calls of host functions have more than ${maxLength} characters`);
      }
      this.#pendingLength += length;
      this.#count++;
      const promise = context.newPromise();
      this.#pending.set(this.#count, { promise, length });
      const call: HostCall = {
        id: this.#count,
        name: context.getString(name),
        argument: context.getString(argument),
      };
      this.#job.port.postMessage(call);
      return promise.handle;
    });
  }
}
