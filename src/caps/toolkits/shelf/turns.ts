/** Work that must not overlap, by name: each waits for the one before it, whatever became of that. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Names for which something is under way. */
  get names(): Iterable<string> {
    return this.#last.keys();
  }

  async take<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(name);
    const turn = (async () => {
      await before?.catch(() => {});
      return work();
    })();
    this.#last.set(name, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(name) === turn) this.#last.delete(name);
    }
  }
}
