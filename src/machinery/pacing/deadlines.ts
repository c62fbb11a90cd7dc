// One timer for the timeouts of all calls of a host: a timer per call would cost more than many calls do.
import { AsyncResource } from "node:async_hooks";
import { type Logger, silentLogger } from "../../plugin/logger.ts";

export interface Expirable {
  readonly id: string;
  readonly session: { readonly id: string };
  /** The call that expires; undefined for a question. */
  readonly call?: object;
  /** Milliseconds on the monotonic clock. Read at each sweep, so it may change. */
  readonly expiresAt: number;
  expire(): void;
}

/** Ends calls and questions that have timed out. */
export interface Deadlines {
  /** Calls `expire` once at `expiresAt`, unless the item is deleted before. Does not keep the process alive. */
  add(item: Expirable): void;
  /** Deleting an item twice, or after it has expired, is allowed. */
  delete(item: Expirable): void;
  /** Nothing expires afterwards. */
  close(): void;
}

/** The interval between two checks, and so the longest delay of a timeout. */
const sweepMs = 25;

export function createDeadlines(log: Logger = silentLogger): Deadlines {
  return new SweptDeadlines(log);
}

class SweptDeadlines implements Deadlines {
  /** Bound to the async context of the host's start: a timer would otherwise keep the context of the call that started it. */
  readonly #startTimer = AsyncResource.bind(() => setInterval(() => this.#sweep(), sweepMs).unref());
  readonly #pending = new Set<Expirable>();
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  add(item: Expirable): void {
    this.#pending.add(item);
    if (this.#timer === undefined) {
      this.#timer = this.#startTimer();
    }
  }

  delete(item: Expirable): void {
    this.#pending.delete(item);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#pending.clear();
  }

  #sweep(): void {
    // Stopping here rather than in `delete` keeps the timer alive between calls that follow each other closely.
    if (this.#pending.size === 0) return this.close();
    const now = performance.now();
    for (const item of this.#pending) {
      if (item.expiresAt > now) continue;
      this.#pending.delete(item);
      this.#expire(item);
    }
  }

  /** An item that throws must not prevent others from expiring, and must not end the process. */
  #expire(item: Expirable): void {
    try {
      item.expire();
    } catch (error) {
      this.#log.error("ending a call after its time threw", { error });
    }
  }
}
