// Work on one episode: one piece after the other, each for whoever waits for it.
import type { CallContext } from "../../../host/call-context.ts";
import { Turns } from "../../../machinery/turns.ts";
import { type Awaitable, isThenable } from "../../../protocol/awaitable.ts";
import type { KeptTogether } from "./kept-together.ts";

/** Whoever waits for the answer: where nobody does any more, nothing is begun. */
export interface Caller extends Pick<CallContext, "isEnded" | "signal"> {
  /** Where several steps have one answer. */
  readonly kept?: KeptTogether;
}

export class CallerTurns {
  readonly #turns = new Turns();
  readonly #assertUsable: () => void;
  /** Whose request is worked on, and not kept for longer than that. */
  #caller: Caller | undefined;

  /** `assertUsable` throws where nothing more can be begun. */
  constructor(assertUsable: () => void) {
    this.#assertUsable = assertUsable;
  }

  /** Of whoever waits for what is being done. */
  get signal(): AbortSignal {
    return this.#caller?.signal ?? new AbortController().signal;
  }

  /** Keeps what came of what is being done. */
  keep(work: () => void): void {
    const kept = this.#caller?.kept;
    if (kept === undefined) work();
    else kept.add(work);
  }

  /** Settles when all that was asked for so far has ended; undefined where that is now. */
  get ended(): Promise<unknown> | undefined {
    return this.#turns.ended;
  }

  /** In its turn. What it needs is handed over, so that a function made once can be used with every step. */
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
