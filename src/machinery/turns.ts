// Work that must not overlap: it runs in the order in which it was added.
import { type Awaitable, isThenable } from "../protocol/awaitable.ts";

export class Turns {
  /** The last work that was added; undefined while nothing runs. */
  #tail: Promise<unknown> | undefined;

  /** Resolves, and never rejects, when all work added so far has ended; undefined if nothing runs. */
  get ended(): Promise<unknown> | undefined {
    return this.#tail;
  }

  /** Runs `work` at once if nothing else runs, and then returns a promise only if `work` does. */
  run<Result>(work: () => Awaitable<Result>): Awaitable<Result> {
    const result = this.#tail === undefined ? work() : this.#tail.then(work);
    return isThenable(result) ? this.follow(result as Promise<Result>) : (result as Result);
  }

  /** Makes later work wait for this promise. A rejection does not keep the next work from running. */
  follow<Result>(promise: Promise<Result>): Promise<Result> {
    const tail: Promise<unknown> = promise.then(ignore, ignore).then(() => {
      if (this.#tail === tail) this.#tail = undefined;
    });
    this.#tail = tail;
    return promise;
  }
}

function ignore(): void {}
