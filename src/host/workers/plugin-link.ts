// One thread of an isolated plugin, from its start to its end. Whatever was asked of it is answered, or fails with it.
import { AsyncResource } from "node:async_hooks";
import { type ResourceLimits, Worker } from "node:worker_threads";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonObject, JsonValue } from "../../protocol/json.ts";
import type { CallContext } from "../call-context.ts";
import type { FromPluginThread, Question, ToPluginThread } from "./plugin-messages.ts";
import { threadEntry } from "./thread-entry.ts";
import { fromThreadError, toThreadError } from "./thread-errors.ts";
import { toCrash } from "./worker-pool.ts";

export interface LinkOptions {
  resourceLimits: ResourceLimits;
  stuckAfterMs: number;
  watchMs: number;
  /** What is about neither a call nor a question. May throw: it is then reported. */
  receive(message: FromPluginThread): void;
  /** A message could not be taken. */
  onBadMessage(error: unknown): void;
  onEnded(error: Error): void;
}

interface Waiting<Result> {
  resolve(result: Result): void;
  reject(error: Error): void;
}

interface RunningCall extends Waiting<JsonObject | undefined> {
  readonly context: CallContext;
  /** Does something in the name of the call: what comes from a thread comes in nobody's. */
  readonly inScope: <Result>(work: () => Result) => Result;
}

export class PluginLink {
  readonly #worker: Worker;
  readonly #options: LinkOptions;
  readonly #questions = new Map<number, Waiting<JsonValue | undefined>>();
  readonly #calls = new Map<number, RunningCall>();
  #numbers = 0;
  #ended: Error | undefined;
  /** Runs from when the thread was asked whether it is there until it says so. */
  #stuck: NodeJS.Timeout | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
    const { resourceLimits } = options;
    const worker = new Worker(threadEntry("plugin-thread", import.meta.url), {
      resourceLimits,
      stdout: true,
      stderr: true,
    });
    worker.on("message", (message: FromPluginThread) => {
      try {
        this.#receive(message);
      } catch (error) {
        options.onBadMessage(error);
      }
    });
    worker.on("error", (error) => this.end(toCrash(error)));
    worker.on("messageerror", (error) => this.end(toCrash(error)));
    worker.on("exit", (code) => this.end(new A2EError("sandbox_crash", `the plugin's thread ended with code ${code}`)));
    // The thread serves; it is no reason for a process to stay.
    worker.unref();
    this.#worker = worker;
  }

  /** The call or undefined where it has ended, for what a thread does in its name. */
  runningCall(number: number): Pick<RunningCall, "context" | "inScope"> | undefined {
    return this.#calls.get(number);
  }

  post(message: ToPluginThread): void {
    if (this.#ended === undefined) this.#worker.postMessage(message);
  }

  async ask(question: Question): Promise<JsonValue | undefined> {
    if (this.#ended !== undefined) throw this.#ended;
    const watch = setInterval(() => {
      // A call that blocks is ended by its deadline, and modules are loaded by a thread that answers nobody.
      if (this.#calls.size === 0 && question.what !== "setup") this.#checkAlive();
    }, this.#options.watchMs).unref();
    try {
      return await new Promise((resolve, reject) => {
        this.#numbers += 1;
        this.#questions.set(this.#numbers, { resolve, reject });
        this.post({ kind: "ask", ask: this.#numbers, question });
      });
    } finally {
      clearInterval(watch);
    }
  }

  async call(
    session: number,
    name: string,
    request: JsonObject,
    context: CallContext,
  ): Promise<JsonObject | undefined> {
    const { id, signal } = context;
    if (this.#ended !== undefined) throw this.#ended;
    // Its time may have been over before the thread was ready.
    signal.throwIfAborted();
    this.#numbers += 1;
    const call = this.#numbers;
    const abort = () => this.#abort(call, signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await new Promise<JsonObject | undefined>((resolve, reject) => {
        const inScope = AsyncResource.bind((work: () => unknown) => work()) as RunningCall["inScope"];
        this.#calls.set(call, { context, inScope, resolve, reject });
        this.post({ kind: "call", session, call, id, name, request });
      });
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Nobody waits for the call any more. A handler may take its time to notice; a thread may not. */
  #abort(call: number, reason: unknown): void {
    this.post({ kind: "abort", call, error: toThreadError(reason) });
    take(this.#calls, call)?.reject(reason as Error);
    this.#checkAlive();
  }

  /** A thread that does not even answer this is blocked, and everybody's calls in it with it. */
  #checkAlive(): void {
    if (this.#stuck !== undefined || this.#ended !== undefined) return;
    this.post({ kind: "ping" });
    const blocked = new A2EError("sandbox_crash", "the plugin's thread was blocked and has been replaced");
    this.#stuck = setTimeout(() => this.end(blocked), this.#options.stuckAfterMs).unref();
  }

  #receive(message: FromPluginThread): void {
    switch (message.kind) {
      case "answer": {
        const question = take(this.#questions, message.ask);
        if (message.error === undefined) return question?.resolve(message.state);
        return question?.reject(fromThreadError(message.error));
      }
      case "result":
        return take(this.#calls, message.call)?.resolve(message.result);
      case "error":
        return take(this.#calls, message.call)?.reject(fromThreadError(message.error));
      case "event": {
        const { call, event, data } = message;
        const running = this.#calls.get(call);
        return running?.inScope(() => running.context.emit(event, data));
      }
      case "timeout":
        return this.#calls.get(message.call)?.context.setTimeout(message.timeoutMs);
      case "pong":
        clearTimeout(this.#stuck);
        this.#stuck = undefined;
        return;
      default:
        return this.#options.receive(message);
    }
  }

  /** Ends the thread, and with this error whatever waits for it. Twice is once. */
  async end(error: Error): Promise<void> {
    if (this.#ended === undefined) {
      this.#ended = error;
      clearTimeout(this.#stuck);
      this.#options.onEnded(error);
      for (const waiting of [...this.#calls.values(), ...this.#questions.values()]) waiting.reject(error);
      this.#calls.clear();
      this.#questions.clear();
    }
    await this.#worker.terminate();
  }
}

function take<Item>(from: Map<number, Item>, number: number): Item | undefined {
  const item = from.get(number);
  from.delete(number);
  return item;
}
