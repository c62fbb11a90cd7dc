// Commits all steps of one request in the same turn as its answer. If some steps were committed earlier, a crash could
// lose the answer, and a repeated request would take these steps again.

export class KeptTogether {
  /** The commits in their order, without duplicates; undefined once the answer was sent. */
  #waiting: Set<() => void> | undefined = new Set();

  /** Queues a commit. After the answer it runs at once. */
  add(work: () => void): void {
    if (this.#waiting === undefined) work();
    else this.#waiting.add(work);
  }

  /** Called in the turn of the answer: runs all queued commits. */
  end(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const work of waiting) work();
  }
}
