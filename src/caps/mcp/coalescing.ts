// Limits how often the same report is made: the first is made at once, and repetitions within the interval become a
// single report at its end. So a thousand equal notifications per second become a few, and the last is not lost.

export class Coalescing {
  readonly #intervalMs: number;
  readonly #waiting = new Map<string, { timer: NodeJS.Timeout; isDue: boolean }>();

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  say(key: string, tell: () => void): void {
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) {
      waiting.isDue = true;
      return;
    }
    const timer = setTimeout(() => {
      const { isDue } = this.#waiting.get(key) ?? {};
      this.#waiting.delete(key);
      if (isDue === true) this.say(key, tell);
    }, this.#intervalMs).unref();
    this.#waiting.set(key, { timer, isDue: false });
    tell();
  }

  stop(): void {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
  }
}
