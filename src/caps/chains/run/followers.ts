// The requests that receive the events of a run. A resumed run has none until its agent repeats the request.
import type { CallContext } from "../../../plugin/call-context.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { chainLimits } from "../limits.ts";

export class Followers {
  readonly #calls: CallContext[];
  /** Events without a receiver; the oldest are dropped beyond `maxMissedEvents`. */
  #missed: JsonObject[] = [];

  constructor(...calls: CallContext[]) {
    this.#calls = calls;
  }

  get isEmpty(): boolean {
    return this.#calls.length === 0;
  }

  /** Whether a request still waits for the answer. */
  get isAwaited(): boolean {
    return this.#calls.some((call) => !call.isEnded);
  }

  add(call: CallContext): void {
    for (const data of this.#missed) call.emit("status", data);
    this.#missed = [];
    this.#calls.push(call);
  }

  tell(data: JsonObject): void {
    for (const call of this.#calls) call.emit("status", data);
    if (!this.isEmpty) return;
    if (this.#missed.length >= chainLimits.maxMissedEvents) this.#missed.shift();
    this.#missed.push(data);
  }
}
