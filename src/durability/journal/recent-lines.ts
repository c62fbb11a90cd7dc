// Determines which lines of a session are too old to keep. Some peers never acknowledge a line, for example the Python SDK over HTTP,
// and some answers are large: a bound by acknowledgements or by the number of lines alone would let a session fill the disk.

export interface RecentLimits {
  readonly maxLines: number;
  readonly maxBytes: number;
}

/** Counts lines in two halves, each as large as the limits allow: this needs three numbers instead of one per line. */
export class RecentLines {
  readonly #limits: RecentLimits;
  /** Lines up to this number are too old. */
  #outdated: number;
  /** The number of the line before the newer half. */
  #middle: number;
  #bytes = 0;

  constructor(limits: RecentLimits, firstSeq: number) {
    this.#limits = limits;
    this.#outdated = firstSeq;
    this.#middle = firstSeq;
  }

  /** Counts the lines of a turn, whose last has the number `lastSeq`; returns the number of the last line that is too old. */
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
