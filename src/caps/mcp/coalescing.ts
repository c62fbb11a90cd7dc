// Says the same thing at most once in a while: at once the first time, and once more at the end where it was said again
// meanwhile. A server that says the same a thousand times a second is then heard a few times, and its last word is.

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
