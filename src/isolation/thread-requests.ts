// What a plugin in a thread asks of its host: calls of other capabilities, questions to the agent. Each is answered once,
// to the thread that asked, and ends with it.
import { A2EError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { ToPluginThread } from "./plugin-messages.ts";
import { toThreadError } from "./thread-errors.ts";

/** Says something to one thread, for as long as that is there. */
export type PostToThread = (message: ToPluginThread) => void;

interface RunningRequest {
  readonly controller: AbortController;
  /** The call that makes it; undefined where the session does so outside of any. */
  readonly call: number | undefined;
  /** To the thread that asked: another one numbers its requests from the start again. */
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

  /** Whoever waits for it has given up; it is answered all the same. */
  abort(nested: number): void {
    this.#running.get(nested)?.controller.abort();
  }

  /** The session is closed: what was asked outside of its calls is refused. A call that runs on may wait for its own. */
  refuseOwn(why: string): void {
    const error = toThreadError(new A2EError("cancelled", why));
    for (const [nested, request] of [...this.#running]) {
      if (request.call !== undefined) continue;
      this.#answer(request, { kind: "nested", nested, error });
      request.controller.abort();
    }
  }

  /** The thread is gone, and nobody is answered any more. */
  end(): void {
    const requests = [...this.#running.values()];
    this.#running.clear();
    for (const { controller } of requests) controller.abort();
  }
}
