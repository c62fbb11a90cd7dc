/**
 * Limits a rate and allows bursts: up to `burst` at once, and `perSecond` on average. Full at first. The time is passed
 * in, in milliseconds; a clock that is set back adds nothing.
 */
export class TokenBucket {
  readonly perSecond: number;
  readonly burst: number;
  #level: number;
  #filledAt: number;

  constructor({ perSecond, burst, now }: { perSecond: number; burst: number; now: number }) {
    this.perSecond = perSecond;
    this.burst = burst;
    this.#level = burst;
    this.#filledAt = now;
  }

  /** Takes one, or returns how many milliseconds to wait until one is there. */
  take(now: number): number {
    const waitMs = this.waitMs(now, 1);
    if (waitMs === 0) this.#level -= 1;
    return waitMs;
  }

  /** Takes an amount that was used already, so the level may fall below 0. */
  spend(now: number, amount: number): void {
    this.#fill(now);
    this.#level -= amount;
  }

  /** How long until the level is at least `needed`; 0 if it is. */
  waitMs(now: number, needed: number): number {
    this.#fill(now);
    // Levels are sums of fractions: without a tolerance, a caller that waits as told could be refused once more.
    const missing = needed - this.#level - 1e-9;
    return missing <= 0 ? 0 : Math.ceil((missing / this.perSecond) * 1000);
  }

  isFull(now: number): boolean {
    this.#fill(now);
    return this.#level >= this.burst;
  }

  #fill(now: number): void {
    const elapsedMs = Math.max(0, now - this.#filledAt);
    this.#filledAt = now;
    this.#level = Math.min(this.burst, this.#level + (elapsedMs / 1000) * this.perSecond);
  }
}
