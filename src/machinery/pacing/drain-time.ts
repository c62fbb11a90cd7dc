import { maxTimerMs } from "../../protocol/timers.ts";

/** The time that the calls of a closing session have to finish. It can be shortened but not extended. */
export class DrainTime {
  readonly #over = new AbortController();
  #endsAt = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(drainMs: number) {
    this.shorten(drainMs);
  }

  /** Aborted when the time is over. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  shorten(toMs: number): void {
    const drainMs = Math.min(toMs, maxTimerMs);
    const endsAt = performance.now() + drainMs;
    if (endsAt >= this.#endsAt) return;
    this.#endsAt = endsAt;
    clearTimeout(this.#timer);
    if (drainMs > 0) this.#timer = setTimeout(() => this.#over.abort(), drainMs);
    else this.#over.abort();
  }

  /** Stops the timer, which would keep the process alive. The signal is not aborted after this. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#endsAt = Number.NEGATIVE_INFINITY;
  }
}
