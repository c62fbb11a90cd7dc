// The requests that are told what a run does. One that was resumed has none until its agent has asked again.
import type { CallContext } from "../../../host/call-context.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { chainLimits } from "../limits.ts";

export class Followers {
  readonly #calls: CallContext[];
  /** What nobody was there for; of very much, the newest. */
  #missed: JsonObject[] = [];

  constructor(...calls: CallContext[]) {
    this.#calls = calls;
  }

  get isEmpty(): boolean {
    return this.#calls.length === 0;
  }

  /** Whether somebody still waits for the answer. */
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
