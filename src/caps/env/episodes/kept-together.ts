// What the steps of one request come to is kept with its answer, and not before: were some of them written earlier, a
// crash would leave them without the answer, and the request that is then repeated would take them again.

export class KeptTogether {
  /** Each once, in the order in which they came; undefined once the answer is there. */
  #waiting: Set<() => void> | undefined = new Set();

  /** What ends after its answer is kept at once. */
  add(work: () => void): void {
    if (this.#waiting === undefined) work();
    else this.#waiting.add(work);
  }

  /** In the turn of the answer, whichever that is. */
  end(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const work of waiting) work();
  }
}
