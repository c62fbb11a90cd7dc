// How far back lines are kept for a peer that does not say what it has. Some never do, as the Python SDK over HTTP: all
// that a session ever said would be kept for them, though the outbound log has long let go of it.
import type { Limits } from "../protocol/limits.ts";

export type UnacknowledgedLimits = Pick<Limits, "maxOutboundLines" | "maxOutboundBytes">;

/** Counts in two halves, each as large as the outbound log may be, so that nothing is known of single lines. */
export class UnacknowledgedLines {
  readonly #limits: UnacknowledgedLimits;
  /** Lines up to this one are too old. */
  #outdated: number;
  /** The newer half follows this line. */
  #middle: number;
  #bytes = 0;

  constructor(limits: UnacknowledgedLimits, acknowledged: number) {
    this.#limits = limits;
    this.#outdated = acknowledged;
    this.#middle = acknowledged;
  }

  /** Takes the lines of a turn, up to this one; returns the last that is too old. */
  add(lines: readonly string[], lastSeq: number): number {
    for (const line of lines) this.#bytes += line.length;
    const { maxOutboundBytes, maxOutboundLines } = this.#limits;
    if (this.#bytes > maxOutboundBytes || lastSeq - this.#middle > maxOutboundLines) {
      this.#outdated = this.#middle;
      this.#middle = lastSeq;
      this.#bytes = 0;
    }
    return this.#outdated;
  }
}
