// A thread of an isolated plugin, from its start to its end. Every question to it is answered, or rejected when it
// ends.
import { type ResourceLimits, Worker } from "node:worker_threads";
import { threadEntry } from "../machinery/threads/thread-entry.ts";
import { toCrash } from "../machinery/threads/worker-pool.ts";
import { A2EError, fromErrorJson } from "../protocol/errors.ts";
import type { FromPluginThread, Question, ToPluginThread } from "./plugin-messages.ts";
import { toThreadError } from "./thread-errors.ts";

export interface LinkOptions {
  resourceLimits: ResourceLimits;
  stuckAfterMs: number;
  watchMs: number;
  /** Whether calls run in the thread. If so, a blocked thread is noticed by their deadlines. */
  hasCalls(): boolean;
  /** Takes a message other than an answer. If it throws, `onBadMessage` is called. */
  receive(message: SaidByThread): void;
  /** `receive` threw. */
  onBadMessage(error: unknown): void;
  onEnded(error: Error): void;
}

interface Waiting {
  resolve(): void;
  reject(error: Error): void;
}

export type SaidByThread = Exclude<FromPluginThread, { kind: "answer" | "pong" }>;

export class PluginLink {
  readonly #worker: Worker;
  readonly #options: LinkOptions;
  readonly #questions = new Map<number, Waiting>();
  #numbers = 0;
  #ended: Error | undefined;
  /** Runs from a ping until its pong. */
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
    // The thread must not keep the process alive.
    worker.unref();
    this.#worker = worker;
  }

  post(message: ToPluginThread): void {
    if (this.#ended === undefined) this.#worker.postMessage(message);
  }

  async ask(question: Question): Promise<void> {
    if (this.#ended !== undefined) throw this.#ended;
    const watch = setInterval(() => {
      // A blocking call is ended by its deadline, and a thread that is still loading modules cannot answer a ping.
      if (!this.#options.hasCalls() && question.what !== "setup") this.#checkAlive();
    }, this.#options.watchMs).unref();
    try {
      await new Promise<void>((resolve, reject) => {
        this.#numbers += 1;
        this.#questions.set(this.#numbers, { resolve, reject });
        this.post({ kind: "ask", ask: this.#numbers, question });
      });
    } finally {
      clearInterval(watch);
    }
  }

  /** Aborts a call. Its handler may take its time to notice, but the thread must answer a ping. */
  abort(session: number, call: number, reason: unknown): void {
    this.post({ kind: "abort", session, call, error: toThreadError(reason) });
    this.#checkAlive();
  }

  /** Pings the thread; a thread that does not answer is blocked and is ended. */
  #checkAlive(): void {
    if (this.#stuck !== undefined || this.#ended !== undefined) return;
    this.post({ kind: "ping" });
    const blocked = new A2EError("sandbox_crash", "the plugin's thread was blocked and has been replaced");
    this.#stuck = setTimeout(() => this.end(blocked), this.#options.stuckAfterMs).unref();
  }

  #receive(message: FromPluginThread): void {
    // The questions and calls of an ended thread have been rejected already.
    if (this.#ended !== undefined) return;
    switch (message.kind) {
      case "answer": {
        const question = this.#questions.get(message.ask);
        this.#questions.delete(message.ask);
        if (message.error === undefined) return question?.resolve();
        return question?.reject(fromErrorJson(message.error));
      }
      case "pong":
        clearTimeout(this.#stuck);
        this.#stuck = undefined;
        return;
      default:
        return this.#options.receive(message);
    }
  }

  /** Ends the thread and rejects open questions with this error; ending it twice is allowed. */
  async end(error: Error): Promise<void> {
    if (this.#ended === undefined) {
      this.#ended = error;
      clearTimeout(this.#stuck);
      this.#options.onEnded(error);
      for (const waiting of this.#questions.values()) waiting.reject(error);
      this.#questions.clear();
    }
    await this.#worker.terminate();
  }
}
