// What a plugin in a thread asks of its host: calls of other capabilities, questions to the agent. Each is answered once,
// to the thread that asked, and ends with it.
import type { JsonObject } from "../../protocol/json.ts";
import type { ToPluginThread } from "./plugin-messages.ts";
import { toThreadError } from "./thread-errors.ts";

export class ThreadRequests {
  readonly #post: (message: ToPluginThread) => void;
  readonly #running = new Map<number, AbortController>();

  constructor(post: (message: ToPluginThread) => void) {
    this.#post = post;
  }

  start(nested: number, run: (signal: AbortSignal) => Promise<JsonObject>): void {
    const controller = new AbortController();
    this.#running.set(nested, controller);
    run(controller.signal).then(
      (result) => this.#answer({ kind: "nested", nested, result }),
      (error: unknown) => this.#answer({ kind: "nested", nested, error: toThreadError(error) }),
    );
  }

  #answer(message: Extract<ToPluginThread, { kind: "nested" }>): void {
    if (this.#running.delete(message.nested)) this.#post(message);
  }

  /** Whoever waits for it has given up; it is answered all the same. */
  abort(nested: number): void {
    this.#running.get(nested)?.abort();
  }

  /** The thread is gone, and nobody is answered any more. */
  end(): void {
    const controllers = [...this.#running.values()];
    this.#running.clear();
    for (const controller of controllers) controller.abort();
  }
}
