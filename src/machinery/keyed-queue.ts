// Runs what concerns one key one after the other, and different keys at once.

export interface KeyedQueue {
  /** Settles as `work` does. A failure does not keep the next one from running. */
  run<Result>(key: string, work: () => Promise<Result>): Promise<Result>;
  /** Resolves when all that was given has ended. */
  idle(): Promise<void>;
}

export function createKeyedQueue(): KeyedQueue {
  const tails = new Map<string, Promise<void>>();
  return {
    run(key, work) {
      const result = (tails.get(key) ?? Promise.resolve()).then(work);
      const tail = result.then(ignore, ignore).then(() => {
        if (tails.get(key) === tail) tails.delete(key);
      });
      tails.set(key, tail);
      return result;
    },
    async idle() {
      while (tails.size > 0) await Promise.all(tails.values());
    },
  };
}

function ignore(): void {}
