// So many calls of a session run at once. Others wait for their turn, and what cannot even wait is refused.
import { A2EError } from "../../protocol/errors.ts";
import type { Limits } from "../../protocol/limits.ts";
import type { ActiveCall } from "./active-call.ts";

type SlotLimits = Pick<Limits, "maxParallelCalls" | "maxQueuedCalls">;

/** A call weighs so much in the average of how long calls take. */
const newestShare = 1 / 16;
const [minRetryMs, maxRetryMs] = [50, 30_000];

export class CallSlots {
  readonly #limits: SlotLimits;
  readonly #run: (call: ActiveCall) => void;
  #queue: ActiveCall[] = [];
  #taken = 0;
  #averageMs = 1;
  #isStarting = false;

  /** `run` is given calls that have waited. */
  constructor(limits: SlotLimits, run: (call: ActiveCall) => void) {
    this.#limits = limits;
    this.#run = run;
  }

  get areTaken(): boolean {
    return this.#taken >= this.#limits.maxParallelCalls;
  }

  /** Why another call cannot even wait, or undefined. */
  refuse(): A2EError | undefined {
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

  /** Runs what waits, as far as there are slots. */
  startQueued(): void {
    // A call that ends at once comes back here; going on from below keeps a long queue of them off the stack.
    if (this.#isStarting || this.#queue.length === 0) return;
    this.#isStarting = true;
    try {
      while (this.#queue.length > 0 && !this.areTaken) {
        const next = this.#queue.shift() as ActiveCall;
        if (!next.isEnded) this.#run(next);
      }
    } finally {
      this.#isStarting = false;
    }
  }

  /** The call no longer waits, if it did. */
  remove(call: ActiveCall): void {
    if (!call.isRunning) this.#queue = this.#queue.filter((queued) => queued !== call);
  }

  clear(): void {
    this.#queue = [];
  }
}
