// A call that waits for its answer.

import type { Message } from "../protocol/envelope.ts";
import type { IdEntry } from "../protocol/id-table.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Call } from "../protocol/table/capability.ts";
import type { CallEvent } from "./errors.ts";

export interface PendingOptions {
  signal?: AbortSignal;
  onEvent?(event: CallEvent): void;
}

export class PendingCall {
  readonly message: Message;
  readonly call: Call;
  readonly options: PendingOptions;
  readonly timeoutMs: number;
  /** By the clock of the calls; set when it is watched. */
  expiresAt = Number.POSITIVE_INFINITY;
  events: CallEvent[] | undefined;
  /** Counts the calls in the order in which they were made. */
  sequence = 0;
  entry: IdEntry<PendingCall> | undefined;
  onAbort: (() => void) | undefined;
  /** The outcome, if the call ended before `toPromise` was called. */
  #outcome: JsonObject | Error | undefined;
  #resolve: ((result: JsonObject) => void) | undefined;
  #reject: ((error: Error) => void) | undefined;

  constructor(message: Message, call: Call, options: PendingOptions, timeoutMs: number) {
    this.message = message;
    this.call = call;
    this.options = options;
    this.timeoutMs = timeoutMs;
  }

  /** The first of these two counts. */
  resolve(result: JsonObject): void {
    if (this.#resolve === undefined) this.#outcome ??= result;
    else this.#resolve(result);
  }

  reject(error: Error): void {
    if (this.#reject === undefined) this.#outcome ??= error;
    else this.#reject(error);
  }

  /**
   * To be called once, by the caller of the call. A host in the same process may have answered already, and then a
   * resolved promise is cheaper than one with resolve functions.
   */
  toPromise(): Promise<JsonObject> {
    const outcome = this.#outcome;
    if (outcome !== undefined) return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome);
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }
}
