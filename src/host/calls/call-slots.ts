// So many calls of a session run at once. Others wait for their turn, and what cannot even wait is refused.
import { AsyncResource } from "node:async_hooks";
import { A2EError } from "../../protocol/errors.ts";
import type { Limits } from "../../protocol/limits.ts";
import type { ActiveCall } from "./active-call.ts";

type SlotLimits = Pick<Limits, "maxParallelCalls" | "maxQueuedCalls">;

/** Keeps calls that end at once from running one after the other for as long as there are any. */
export interface SlotPace {
  /** Whether another call may run in this turn. To be asked before each but the first. */
  mayStart(): boolean;
  /** Calls back once, when another call may run. */
  onceMayStart(callback: () => void): void;
}

/** A call weighs so much in the average of how long calls take. */
const newestShare = 1 / 16;
const [minRetryMs, maxRetryMs] = [50, 30_000];

export class CallSlots {
  readonly #limits: SlotLimits;
  readonly #run: (call: ActiveCall) => void;
  readonly #pace: () => SlotPace;
  #queue: ActiveCall[] = [];
  #taken = 0;
  #averageMs = 1;
  #isStarting = false;
  /** Queued calls wait for time, not for a slot: new calls wait behind them. */
  #isDeferred = false;

  /** `run` is given calls that have waited. */
  constructor(limits: SlotLimits, run: (call: ActiveCall) => void, pace: () => SlotPace) {
    this.#pace = pace;
    this.#limits = limits;
    this.#run = run;
  }

  /** Whether a new call has to wait. */
  get areTaken(): boolean {
    return this.#isDeferred || this.#taken >= this.#limits.maxParallelCalls;
  }

  /** The error for a call that cannot even wait, because the queue is full; undefined if it is not. */
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

  /** Frees the slot of a call, where it has one. */
  free(call: ActiveCall, now: number): void {
    if (!call.isRunning) return;
    call.isRunning = false;
    this.#taken -= 1;
    this.#averageMs += (now - call.startedAt - this.#averageMs) * newestShare;
  }

  /** Runs queued calls, as far as there are slots and time. */
  startQueued(): void {
    // A call that ends at once calls this again: the loop below goes on, so a long queue does not grow the stack.
    if (this.#isStarting || this.#isDeferred || this.#queue.length === 0) return;
    this.#isStarting = true;
    try {
      const pace = this.#pace();
      for (let isFirst = true; this.#queue.length > 0 && !this.areTaken; isFirst = false) {
        // The first one always: a slot that becomes free is taken at once, as long as calls take a while.
        if (!isFirst && !pace.mayStart()) return this.#defer(pace);
        const next = this.#queue.shift() as ActiveCall;
        if (!next.isEnded) this.#run(next);
      }
    } finally {
      this.#isStarting = false;
    }
  }

  #defer(pace: SlotPace): void {
    this.#isDeferred = true;
    // In the asynchronous context of the call that has freed the slot, as without waiting: a recording tells them apart.
    const start = AsyncResource.bind(() => {
      this.#isDeferred = false;
      this.startQueued();
    });
    pace.onceMayStart(start);
  }

  /** The call no longer waits, if it did. */
  remove(call: ActiveCall): void {
    if (!call.isRunning) this.#queue = this.#queue.filter((queued) => queued !== call);
  }

  clear(): void {
    this.#queue = [];
  }
}
