// One thread of an isolated plugin, from its start to its end. Whatever was asked of it is answered, or fails with it.
import { type ResourceLimits, Worker } from "node:worker_threads";
import { threadEntry } from "../machinery/threads/thread-entry.ts";
import { toCrash } from "../machinery/threads/worker-pool.ts";
import { A2EError } from "../protocol/errors.ts";
import type { FromPluginThread, Question, ToPluginThread } from "./plugin-messages.ts";
import { fromThreadError, toThreadError } from "./thread-errors.ts";

export interface LinkOptions {
  resourceLimits: ResourceLimits;
  stuckAfterMs: number;
  watchMs: number;
  /** Whether calls run in the thread: they are watched by their deadlines. */
  hasCalls(): boolean;
  /** What answers no question. May throw: it is then reported. */
  receive(message: SaidByThread): void;
  /** A message could not be taken. */
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

  post(message: ToPluginThread): void {
    if (this.#ended === undefined) this.#worker.postMessage(message);
  }

  async ask(question: Question): Promise<void> {
    if (this.#ended !== undefined) throw this.#ended;
    const watch = setInterval(() => {
      // A call that blocks is ended by its deadline, and modules are loaded by a thread that answers nobody.
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

  /** Nobody waits for a call any more. A handler may take its time to notice; a thread may not. */
  abort(session: number, call: number, reason: unknown): void {
    this.post({ kind: "abort", session, call, error: toThreadError(reason) });
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
    // Whatever it was about has ended with it.
    if (this.#ended !== undefined) return;
    switch (message.kind) {
      case "answer": {
        const question = this.#questions.get(message.ask);
        this.#questions.delete(message.ask);
        if (message.error === undefined) return question?.resolve();
        return question?.reject(fromThreadError(message.error));
      }
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
      for (const waiting of this.#questions.values()) waiting.reject(error);
      this.#questions.clear();
    }
    await this.#worker.terminate();
  }
}
