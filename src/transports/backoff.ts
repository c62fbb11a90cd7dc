/** How a transport comes back after a cut. */
export interface ReconnectOptions {
  /** The first wait; the very first attempt is made at once. */
  initialBackoffMs?: number;
  maxBackoffMs?: number;
  /** A link that has been down for this long is given up. By default as long as a host keeps a session nobody reads. */
  giveUpAfterMs?: number;
  /** A number from 0 to 1. */
  random?: () => number;
}

export interface Backoff {
  /** How long to wait before the next attempt; undefined when it is time to give up. */
  next(): number | undefined;
  /** The link is up again. */
  reset(): void;
}

const defaultGiveUpAfterMs = 30 * 60_000;

/** At once, then doubling, with half of each wait left to chance: a thousand agents must not come back in step. */
export function createBackoff(options: ReconnectOptions = {}): Backoff {
  const {
    initialBackoffMs = 100,
    maxBackoffMs = 30_000,
    giveUpAfterMs = defaultGiveUpAfterMs,
    random = Math.random,
  } = options;
  let attempt = 0;
  let downSince: number | undefined;
  return {
    next() {
      downSince ??= performance.now();
      if (performance.now() - downSince >= giveUpAfterMs) return undefined;
      attempt += 1;
      if (attempt === 1) return 0;
      const full = Math.min(maxBackoffMs, initialBackoffMs * 2 ** Math.min(30, attempt - 2));
      return full / 2 + (full / 2) * random();
    },
    reset() {
      attempt = 0;
      downSince = undefined;
    },
  };
}
