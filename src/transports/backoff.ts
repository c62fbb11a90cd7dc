/** How a transport reconnects after a cut. */
export interface ReconnectOptions {
  /** The first wait; the very first attempt is made at once. */
  initialBackoffMs?: number;
  maxBackoffMs?: number;
  /**
   * A link that has been down for this long is given up. The default is the time for which a host keeps a session
   * without a reader.
   */
  giveUpAfterMs?: number;
  /** A number from 0 to 1. */
  random?: () => number;
}

export interface Backoff {
  /** How long to wait before the next attempt; undefined when it is time to give up. */
  next(): number | undefined;
  /**
   * The link is open. That does not reset the waits: a link that is closed again and again as soon as it opens is
   * down.
   */
  opened(): void;
  /** The link has received data: after the next cut, the waits restart at `initialBackoffMs`. */
  proven(): void;
}

const defaultGiveUpAfterMs = 30 * 60_000;
/** A link that was open for this long counts as proven, even without traffic. */
const provenAfterMs = 1_000;

/**
 * The first attempt at once, then doubling waits, half of each random, so that a thousand agents do not reconnect at
 * the same moment.
 */
export function createBackoff(options: ReconnectOptions = {}): Backoff {
  const {
    initialBackoffMs = 100,
    maxBackoffMs = 30_000,
    giveUpAfterMs = defaultGiveUpAfterMs,
    random = Math.random,
  } = options;
  let attempt = 0;
  let downSince: number | undefined;
  let openSince: number | undefined;
  const proven = () => {
    attempt = 0;
    downSince = undefined;
  };
  return {
    next() {
      const now = performance.now();
      if (openSince !== undefined && now - openSince >= provenAfterMs) proven();
      openSince = undefined;
      downSince ??= now;
      const leftMs = giveUpAfterMs - (now - downSince);
      if (leftMs <= 0) return undefined;
      attempt += 1;
      if (attempt === 1) return 0;
      const full = Math.min(maxBackoffMs, initialBackoffMs * 2 ** Math.min(30, attempt - 2));
      // The last attempt is made when the time is up, not long after.
      return Math.min(full / 2 + (full / 2) * random(), leftMs);
    },
    opened() {
      openSince = performance.now();
    },
    proven,
  };
}
