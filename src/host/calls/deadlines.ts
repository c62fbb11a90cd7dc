// Timeouts of all calls of a host by one timer: a timer per call would cost more than many calls do.
import { AsyncResource } from "node:async_hooks";
import { type Logger, silentLogger } from "../logger.ts";

export interface Expirable {
  /** Milliseconds on the monotonic clock. */
  readonly expiresAt: number;
  expire(): void;
}

/** How late a timeout may be noticed. */
const sweepMs = 25;

export class Deadlines {
  /** Bound to where the host was made: a timer would go on in the name of the call that began it. */
  readonly #startTimer = AsyncResource.bind(() => setInterval(() => this.#sweep(), sweepMs).unref());
  readonly #pending = new Set<Expirable>();
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;

  constructor(log: Logger = silentLogger) {
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

  /** What one of them throws must not keep the others waiting, nor end the process. */
  #expire(item: Expirable): void {
    try {
      item.expire();
    } catch (error) {
      this.#log.error("a timeout could not be told", { error });
    }
  }
}
