// Runs the work on one episode in order, each piece on behalf of the call that requested it.

import { Turns } from "../../../machinery/turns.ts";
import type { CallContext } from "../../../plugin/call-context.ts";
import { type Awaitable, isThenable } from "../../../protocol/awaitable.ts";
import type { KeptTogether } from "./kept-together.ts";

/** The call that waits for the answer. No work is started for a call that has ended. */
export interface Caller extends Pick<CallContext, "isEnded" | "signal" | "charge"> {
  /** Set if several steps share one answer. */
  readonly kept?: KeptTogether;
}

export class CallerTurns {
  readonly #turns = new Turns();
  readonly #assertUsable: () => void;
  /** The call whose work is running; undefined while nothing runs. */
  #caller: Caller | undefined;

  /** `assertUsable` throws if no more work may start. */
  constructor(assertUsable: () => void) {
    this.#assertUsable = assertUsable;
  }

  /** The signal of the call whose work is running. */
  get signal(): AbortSignal {
    return this.#caller?.signal ?? new AbortController().signal;
  }

  /** Commits a change of the running work: now, or together with the other changes of its answer. */
  keep(work: () => void): void {
    const kept = this.#caller?.kept;
    if (kept === undefined) work();
    else kept.add(work);
  }

  /** Resolves when all work requested so far has ended; undefined if nothing runs. */
  get ended(): Promise<unknown> | undefined {
    return this.#turns.ended;
  }

  /** Runs `work(given)` when it is its turn. `given` is a parameter so that one function can serve all steps. */
  run<Given, Result>(
    caller: Caller | undefined,
    work: (given: Given) => Awaitable<Result>,
    given: Given,
  ): Awaitable<Result> {
    if (this.#turns.ended !== undefined) return this.#turns.run(() => this.#runFor(caller, work, given));
    const result = this.#runFor(caller, work, given);
    return isThenable(result) ? this.#turns.follow(result as Promise<Result>) : (result as Result);
  }

  #runFor<Given, Result>(
    caller: Caller | undefined,
    work: (given: Given) => Awaitable<Result>,
    given: Given,
  ): Awaitable<Result> {
    this.#assertUsable();
    if (caller?.isEnded === true) caller.signal.throwIfAborted();
    this.#caller = caller;
    let isLater = false;
    try {
      const result = work(given);
      isLater = isThenable(result);
      return isLater ? Promise.resolve(result).finally(() => this.#leave()) : result;
    } finally {
      if (!isLater) this.#leave();
    }
  }

  #leave(): void {
    this.#caller = undefined;
  }
}
