// Work on one thing that must not overlap: one after the other, in the order of asking.
import { isThenable } from "../../host/thenable.ts";
import type { Awaitable } from "./awaitable.ts";

export class Turns {
  /** What later work waits for; undefined while nothing is under way. */
  #tail: Promise<unknown> | undefined;

  /** Settles, and never rejects, when all that was asked for so far has ended; undefined where that is now. */
  get ended(): Promise<unknown> | undefined {
    return this.#tail;
  }

  /** At once where nothing is under way, and with no promise where the work needs none. */
  run<Result>(work: () => Awaitable<Result>): Awaitable<Result> {
    const result = this.#tail === undefined ? work() : this.#tail.then(work);
    return isThenable(result) ? this.follow(result as Promise<Result>) : (result as Result);
  }

  /** Later work waits for this. */
  follow<Result>(promise: Promise<Result>): Promise<Result> {
    const tail: Promise<unknown> = promise.then(ignore, ignore).then(() => {
      if (this.#tail === tail) this.#tail = undefined;
    });
    this.#tail = tail;
    return promise;
  }
}

function ignore(): void {}
