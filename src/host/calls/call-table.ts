// The calls in flight and the last answers of a session, by request id. A repeated request gets the answer of the first
// and is not run again.

import type { Message } from "../../protocol/envelope.ts";
import { type IdEntry, IdTable } from "../../protocol/id-table.ts";
import type { Limits } from "../../protocol/limits.ts";
import type { CheckedAnswer } from "../../protocol/table/checked-answer.ts";
import { ActiveCall } from "./active-call.ts";

/** An encoded line; or, if it never became text, the checked answer or the error message. */
export type Answer = string | CheckedAnswer | Message;

type MemoryLimits = Pick<Limits, "maxRememberedAnswers" | "maxRememberedMessages" | "maxRememberedBytes">;

export class CallTable {
  readonly #table = new IdTable<ActiveCall | Answer>();
  readonly #limits: MemoryLimits;
  /** Answered entries in the order of their answers; those before `#oldest` are removed. */
  #answered: (IdEntry<ActiveCall | Answer> | undefined)[] = [];
  #oldest = 0;
  #bytes = 0;

  constructor(limits: MemoryLimits) {
    this.#limits = limits;
  }

  /** The number of calls in flight. */
  get inFlight(): number {
    return this.#table.size - (this.#answered.length - this.#oldest);
  }

  get(id: string): ActiveCall | Answer | undefined {
    return this.#table.get(id);
  }

  /** The id of the call must not be in the table. */
  add(call: ActiveCall): void {
    call.tableEntry = this.#table.add(call.id, call);
  }

  /** Replaces the call by its answer, which is remembered until newer answers exceed the limits. */
  answer(call: ActiveCall, answer: Answer): void {
    const entry = call.tableEntry as IdEntry<ActiveCall | Answer>;
    const isText = typeof answer === "string";
    const maxAnswers = isText ? this.#limits.maxRememberedAnswers : this.#limits.maxRememberedMessages;
    entry.value = answer;
    this.#answered.push(entry);
    if (isText) this.#bytes += answer.length;
    while (this.#answered.length - this.#oldest > maxAnswers || this.#bytes > this.#limits.maxRememberedBytes)
      this.#forgetOldest();
  }

  /** Restores an answer of an earlier process. */
  recover(id: string, line: string): void {
    const known = this.#table.get(id);
    const entry = this.#table.set(id, line);
    this.#bytes += line.length;
    // If an id has several answers, the last counts. It is in `#answered` once, or `inFlight` would become negative.
    if (typeof known === "string") this.#bytes -= known.length;
    else this.#answered.push(entry);
    while (this.#answered.length - this.#oldest > this.#limits.maxRememberedAnswers) this.#forgetOldest();
  }

  /** Removes a call that is not answered. */
  remove(call: ActiveCall): void {
    this.#table.remove(call.tableEntry as IdEntry<ActiveCall | Answer>);
  }

  calls(): ActiveCall[] {
    return this.#table.values().filter((value) => value instanceof ActiveCall);
  }

  #forgetOldest(): void {
    const entry = this.#answered[this.#oldest] as IdEntry<ActiveCall | Answer>;
    this.#answered[this.#oldest] = undefined;
    this.#oldest += 1;
    if (typeof entry.value === "string") this.#bytes -= entry.value.length;
    this.#table.remove(entry);
    // V8 may allocate entries directly in its old generation. A dead entry there would keep its answer in memory until the
    // next full collection, so the reference is cleared.
    entry.value = "";
    // Only when at least half of the array is unused, so that each entry is moved about once.
    if (this.#oldest < 256 || this.#oldest * 2 < this.#answered.length) return;
    this.#answered = this.#answered.slice(this.#oldest);
    this.#oldest = 0;
  }
}
