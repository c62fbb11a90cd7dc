// Limits how many nodes of a run work at once; without it, each nested map would have its own full limit.
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

  /**
   * Runs the work now, or when a slot is free. Work that ends at once takes no slot. Rejects if the signal aborts
   * first.
   */
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

  /** Takes a slot for work that has started and continues. */
  hold<Value>(output: Awaitable<Value>): Awaitable<Value> {
    if (!(output instanceof Promise)) return output;
    this.#taken += 1;
    output.then(this.#give, this.#give);
    return output;
  }

  /** Calls back once when a slot is free, unless the run ends before. */
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

  /** The run is over: waiting work is rejected and nothing starts any more. */
  close(reason: unknown): void {
    for (const waiting of [...this.#waiting]) waiting.end(reason);
    this.#waiting.clear();
  }

  readonly #give = () => {
    this.#taken -= 1;
    this.#serve();
  };

  /** In the order of arrival. Not recursive: very much work that ends at once would overflow the stack. */
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
