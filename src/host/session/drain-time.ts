import { maxTimerMs } from "../../protocol/timers.ts";
/** How long what is ending may still take. Whoever is in more of a hurry shortens it; nobody lengthens it. */
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

  /** Nobody waits for its end any more: a timer would only keep the process. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#endsAt = Number.NEGATIVE_INFINITY;
  }
}
