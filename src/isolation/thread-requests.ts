// Requests of a plugin in a thread to its host: calls of other capabilities, and questions to the agent. Each request
// is answered once, to the thread that made it, and ends with that thread.
import { A2EError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { ToPluginThread } from "./plugin-messages.ts";
import { toThreadError } from "./thread-errors.ts";

/** Posts to a thread while it exists. */
export type PostToThread = (message: ToPluginThread) => void;

interface RunningRequest {
  readonly controller: AbortController;
  /** The call that makes the request; undefined if the session makes it outside of any call. */
  readonly call: number | undefined;
  /** To the thread that made the request: a new thread numbers its requests from the start again. */
  readonly post: PostToThread;
}

export class ThreadRequests {
  readonly #running = new Map<number, RunningRequest>();

  start(
    { nested, call }: { nested: number; call?: number },
    post: PostToThread,
    run: (signal: AbortSignal) => Promise<JsonObject>,
  ): void {
    const request: RunningRequest = { controller: new AbortController(), call, post };
    this.#running.set(nested, request);
    run(request.controller.signal).then(
      (result) => this.#answer(request, { kind: "nested", nested, result }),
      (error: unknown) => this.#answer(request, { kind: "nested", nested, error: toThreadError(error) }),
    );
  }

  #answer(request: RunningRequest, message: Extract<ToPluginThread, { kind: "nested" }>): void {
    if (this.#running.get(message.nested) !== request) return;
    this.#running.delete(message.nested);
    request.post(message);
  }

  /** The plugin no longer waits for the request; it is answered nevertheless. */
  abort(nested: number): void {
    this.#running.get(nested)?.controller.abort();
  }

  /**
   * The session is closed: requests made outside of its calls are rejected. A call that still runs may wait for its
   * own requests.
   */
  refuseOwn(why: string): void {
    const error = toThreadError(new A2EError("cancelled", why));
    for (const [nested, request] of [...this.#running]) {
      if (request.call !== undefined) continue;
      this.#answer(request, { kind: "nested", nested, error });
      request.controller.abort();
    }
  }

  /** The thread has ended; its requests are not answered any more. */
  end(): void {
    const requests = [...this.#running.values()];
    this.#running.clear();
    for (const { controller } of requests) controller.abort();
  }
}
