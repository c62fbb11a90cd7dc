// Work that must not overlap if it has the same key. Work with different keys runs at the same time.
import type { Awaitable } from "../protocol/awaitable.ts";
import { Turns } from "./turns.ts";

export class KeyedQueue {
  readonly #queues = new Map<string, { readonly turns: Turns; size: number }>();

  /** The keys that have running or waiting work. */
  get keys(): Iterable<string> {
    return this.#queues.keys();
  }

  /** Settles as `work` does. A failure does not keep the next work from running. */
  async run<Result>(key: string, work: () => Awaitable<Result>): Promise<Result> {
    const queue = this.#queues.get(key) ?? { turns: new Turns(), size: 0 };
    this.#queues.set(key, queue);
    queue.size += 1;
    try {
      return await queue.turns.run(work);
    } finally {
      queue.size -= 1;
      if (queue.size === 0) this.#queues.delete(key);
    }
  }

  /** Resolves when no work runs or waits. */
  async idle(): Promise<void> {
    while (this.#queues.size > 0) await Promise.all(Array.from(this.#queues.values(), ({ turns }) => turns.ended));
  }
}
