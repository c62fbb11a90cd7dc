// The thread's side of a plugin's requests to its host: sends each request, waits for its result, and reports an abort.

import type { CallOptions } from "../plugin/call-context.ts";
import { A2EError, fromErrorJson } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { FromPluginThread, ToPluginThread } from "./plugin-messages.ts";

interface Wait {
  resolve(result: JsonObject): void;
  reject(error: Error): void;
  onEvent: CallOptions["onEvent"];
  /** Stops listening to the caller's signal. */
  release(): void;
}

export class HostRequests {
  readonly #post: (message: FromPluginThread) => void;
  readonly #waits = new Map<number, Wait>();
  #count = 0;

  constructor(post: (message: FromPluginThread) => void) {
    this.#post = post;
  }

  send(
    session: number,
    createMessage: (nested: number) => FromPluginThread,
    { signal, onEvent }: Pick<CallOptions, "signal" | "onEvent">,
  ): Promise<JsonObject> {
    const answered = new Promise<JsonObject>((resolve, reject) => {
      if (signal?.aborted === true) throw new A2EError("cancelled", "cancelled by its caller");
      this.#count += 1;
      const nested = this.#count;
      // First, since a request without a JSON form throws here and is not waited for.
      const message = createMessage(nested);
      const stop = () => this.#post({ kind: "abortNested", session, nested });
      const release = () => signal?.removeEventListener("abort", stop);
      signal?.addEventListener("abort", stop, { once: true });
      this.#waits.set(nested, { resolve, reject, onEvent, release });
      this.#post(message);
    });
    // A plugin that does not await the request has no use for its error, and an unhandled rejection would end the
    // thread.
    answered.catch(() => {});
    return answered;
  }

  settle({ nested, result, error }: Extract<ToPluginThread, { kind: "nested" }>): void {
    const wait = this.#waits.get(nested);
    this.#waits.delete(nested);
    wait?.release();
    if (error !== undefined) wait?.reject(fromErrorJson(error));
    else wait?.resolve(result ?? {});
  }

  /** Throws the error that the caller's own callback throws. */
  event({ nested, event }: Extract<ToPluginThread, { kind: "nestedEvent" }>): void {
    this.#waits.get(nested)?.onEvent?.(event);
  }
}
