// The part of the script sandbox that runs in a worker. Functions of the host are called over a port of their own.
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

/** Over the port, from here. */
export interface HostCall {
  id: number;
  name: string;
  /** JSON. */
  argument: string;
}

/** Over the port, to here. */
export type HostAnswer = { id: number; json: string } | { id: number; error: string };

/** A script that asks without waiting for answers is stopped here, before it fills the host's memory with questions. */
const maxPendingCalls = 256;

/** Characters of JSON that a script has the host read at once, as questions or as its result: the host copies and parses them. */
const maxLength = 8 * 1024 * 1024;

/** What a script finds beside the language: its functions, and a console that nobody reads. */
const prelude = `(call, names) => {
  const { parse, stringify } = JSON;
  const ignore = () => {};
  globalThis.console = { log: ignore, info: ignore, debug: ignore, warn: ignore, error: ignore };
  for (const name of parse(names)) {
    globalThis[name] = async (argument) => parse(await call(name, stringify(argument) ?? "null"));
  }
  return { parse, toJson: (value) => stringify(value) ?? "null" };
}`;

/** Resolves with JSON. The messages say when the script has the floor: only then can it hang. */
export async function runModule(job: QuickJsJob, { send }: WorkerContext): Promise<string> {
  const quickJs = await openQuickJs(job);
  try {
    return await new ModuleRun(quickJs, job, send).finish();
  } catch (error) {
    if (error instanceof ScriptError) throw new A2EError("runtime_error", error.message);
    if (error instanceof A2EError) throw error;
    // The stack of this thread has come to its end, or WebAssembly has given up.
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

  /** What a promise of the script comes to, with everything that the host is still to answer. */
  async #settled(value: QuickJSHandle): Promise<QuickJSHandle> {
    for (;;) {
      this.#turn(() => runPendingJobs(this.#context));
      const state = this.#context.getPromiseState(value);
      if (state.type === "fulfilled") return state.notAPromise === true ? value : state.value;
      if (state.type === "rejected") {
        // Through the same door as what is thrown at once, which knows when memory or time ran out.
        return this.#quickJs.run(() => {
          throw toScriptError(this.#context, state.error);
        });
      }
      if (this.#pending.size === 0)
        throw new ScriptError("the script waits for a promise that nothing will ever resolve");
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

  /** Asked before the text is copied out of the interpreter. */
  #lengthOf(text: QuickJSHandle): number {
    return this.#context.getNumber(this.#context.getProp(text, "length"));
  }

  #createCall(): QuickJSHandle {
    const context = this.#context;
    return context.newFunction("call", (name, argument) => {
      if (this.#pending.size >= maxPendingCalls) {
        throw new Error(`more than ${maxPendingCalls} calls of the host wait for their answers`);
      }
      const length = this.#lengthOf(argument);
      if (this.#pendingLength + length > maxLength) {
        throw new Error(`calls of the host that wait for their answers have more than ${maxLength} characters`);
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
