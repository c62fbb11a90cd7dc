// How far back lines are kept. Some peers never say what they have, as the Python SDK over HTTP, and some answers are
// large: by the number of lines alone, or until they are acknowledged, a session could fill the disk.

export interface RecentLimits {
  readonly maxLines: number;
  readonly maxBytes: number;
}

/** Counts in two halves, each as large as the limits allow, so that nothing is known of single lines. */
export class RecentLines {
  readonly #limits: RecentLimits;
  /** Lines up to this one are too old. */
  #outdated: number;
  /** The newer half follows this line. */
  #middle: number;
  #bytes = 0;

  constructor(limits: RecentLimits, firstSeq: number) {
    this.#limits = limits;
    this.#outdated = firstSeq;
    this.#middle = firstSeq;
  }

  /** Takes the lines of a turn, up to this one; returns the last that is too old. */
  add(bytes: number, lastSeq: number): number {
    const { maxBytes, maxLines } = this.#limits;
    this.#bytes += bytes;
    if (this.#bytes > maxBytes || lastSeq - this.#middle > maxLines) {
      this.#outdated = this.#middle;
      this.#middle = lastSeq;
      this.#bytes = 0;
    }
    return this.#outdated;
  }
}
