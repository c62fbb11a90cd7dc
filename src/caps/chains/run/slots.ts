// How much of a run works at once, wherever in it: without this, maps within maps would each have as much as the whole.
import type { Work } from "../expressions/work.ts";
import type { Awaitable } from "./run-port.ts";

interface Waiting {
  begin(): void;
  end(reason: unknown): void;
}

export class Slots {
  readonly #max: number;
  readonly #work: Work;
  readonly #waiting = new Set<Waiting>();
  #taken = 0;
  #isServing = false;

  constructor(max: number, work: Work) {
    this.#max = max;
    this.#work = work;
  }

  get isFull(): boolean {
    return this.#taken >= this.#max;
  }

  /** Does the work now or when its turn comes. What is done at once takes no slot. Rejects where the signal aborts first. */
  run<Value>(work: () => Awaitable<Value>, signal: AbortSignal | undefined): Awaitable<Value> {
    if (!this.isFull) return this.hold(work());
    return new Promise<Value>((resolve, reject) => {
      const cancel = () => waiting.end(signal?.reason);
      const leave = () => {
        signal?.removeEventListener("abort", cancel);
        this.#waiting.delete(waiting);
      };
      const waiting: Waiting = {
        begin: () => {
          leave();
          try {
            resolve(this.hold(work()));
          } catch (error) {
            reject(error);
          }
        },
        end: (reason) => {
          leave();
          reject(reason);
        },
      };
      this.#waiting.add(waiting);
      signal?.addEventListener("abort", cancel, { once: true });
    });
  }

  /** Takes a slot for what was begun and goes on. */
  hold<Value>(output: Awaitable<Value>): Awaitable<Value> {
    if (!(output instanceof Promise)) return output;
    this.#taken += 1;
    output.then(this.#give, this.#give);
    return output;
  }

  /** Calls back when there is a slot, once, unless the run is over before. */
  whenFree(callback: () => void): void {
    const waiting: Waiting = {
      begin: () => {
        this.#waiting.delete(waiting);
        callback();
      },
      end: () => {},
    };
    this.#waiting.add(waiting);
  }

  /** The run is over: nothing begins any more. */
  close(reason: unknown): void {
    for (const waiting of [...this.#waiting]) waiting.end(reason);
    this.#waiting.clear();
  }

  readonly #give = () => {
    this.#taken -= 1;
    this.#serve();
  };

  /** From the first that came. Not from within itself: very many that are done at once would nest too deep. */
  #serve(): void {
    if (this.#isServing) return;
    this.#isServing = true;
    for (const waiting of this.#waiting) {
      if (this.isFull || this.#work.isTurnOver) break;
      waiting.begin();
    }
    this.#isServing = false;
    if (this.#waiting.size > 0 && !this.isFull) void this.#work.nextTurn().then(() => this.#serve());
  }
}
