// Limits the calls of a session: `maxParallelCalls` run at once, `maxQueuedCalls` wait, further calls are rejected.
import { AsyncResource } from "node:async_hooks";
import { A2EError } from "../../protocol/errors.ts";
import type { Limits } from "../../protocol/limits.ts";
import type { ActiveCall } from "./active-call.ts";

type SlotLimits = Pick<Limits, "maxParallelCalls" | "maxQueuedCalls">;

/** Spreads queued calls over several turns of the event loop, so that a long queue of short calls does not block it. */
export interface SlotPace {
  /** Whether another call may run in this turn. Called before each call except for the first. */
  mayStart(): boolean;
  /** Calls back once, when another call may run. */
  onceMayStart(callback: () => void): void;
}

/** Runs a call that has waited. */
interface SlotRunner {
  run(call: ActiveCall): void;
}

/** The weight of the newest call in the moving average of call durations. */
const newestShare = 1 / 16;
const [minRetryMs, maxRetryMs] = [50, 30_000];

export class CallSlots {
  readonly #limits: SlotLimits;
  readonly #runner: SlotRunner;
  readonly #pace: SlotPace;
  #queue: ActiveCall[] = [];
  #taken = 0;
  #averageMs = 1;
  #isStarting = false;
  /** Queued calls wait for the next turn, not for a slot. New calls wait behind them. */
  #isDeferred = false;

  constructor(limits: SlotLimits, runner: SlotRunner, pace: SlotPace) {
    this.#limits = limits;
    this.#runner = runner;
    this.#pace = pace;
  }

  /** Whether a new call has to wait. */
  get areTaken(): boolean {
    return this.#isDeferred || this.#taken >= this.#limits.maxParallelCalls;
  }

  /** The error for a new call if the queue is full, otherwise undefined. */
  overload(): A2EError | undefined {
    const { maxParallelCalls, maxQueuedCalls } = this.#limits;
    if (this.#queue.length < maxQueuedCalls) return undefined;
    const waitMs = Math.round((this.#averageMs * this.#queue.length) / maxParallelCalls);
    return new A2EError("rate_limited", `${maxParallelCalls} calls are running and ${maxQueuedCalls} are waiting`, {
      detail: { limit: "maxQueuedCalls", retry_after_ms: Math.min(maxRetryMs, Math.max(minRetryMs, waitMs)) },
    });
  }

  queue(call: ActiveCall): void {
    this.#queue.push(call);
  }

  take(call: ActiveCall): void {
    this.#taken += 1;
    call.isRunning = true;
  }

  /** Frees the slot of a call, if it has one. */
  free(call: ActiveCall, now: number): void {
    if (!call.isRunning) return;
    call.isRunning = false;
    this.#taken -= 1;
    this.#averageMs += (now - call.startedAt - this.#averageMs) * newestShare;
  }

  /** Runs queued calls until all slots are taken or `SlotPace` defers the rest. */
  startQueued(): void {
    // A call that ends synchronously calls this again. The loop below continues instead, so the stack does not grow.
    if (this.#isStarting || this.#isDeferred || this.#queue.length === 0) return;
    this.#isStarting = true;
    try {
      for (let isFirst = true; this.#queue.length > 0 && !this.areTaken; isFirst = false) {
        // The first call is never deferred, so that the slot that has become free is used at once.
        if (!isFirst && !this.#pace.mayStart()) return this.#defer();
        const next = this.#queue.shift() as ActiveCall;
        if (!next.isEnded) this.#runner.run(next);
      }
    } finally {
      this.#isStarting = false;
    }
  }

  #defer(): void {
    this.#isDeferred = true;
    // Keeps the async context of the call that freed the slot, as if nothing were deferred: recordings depend on it.
    const start = AsyncResource.bind(() => {
      this.#isDeferred = false;
      this.startQueued();
    });
    this.#pace.onceMayStart(start);
  }

  /** Removes the call from the queue, if it is queued. */
  remove(call: ActiveCall): void {
    if (!call.isRunning) this.#queue = this.#queue.filter((queued) => queued !== call);
  }

  clear(): void {
    this.#queue = [];
  }
}
