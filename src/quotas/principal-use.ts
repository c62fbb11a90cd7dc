// What one principal uses at this moment, over all of its sessions.
import type { PrincipalQuota } from "./quota-settings.ts";
import { overLimit } from "./refusals.ts";
import { TokenBucket } from "./token-bucket.ts";

/** It is not known when a session or a call ends, so the agent is asked to retry after this. */
const retryMs = 1_000;

export class PrincipalUse {
  sessions = 0;
  /** Of its newest session, for bytes: audit entries name the principal, not the session. */
  quota: PrincipalQuota | undefined;
  #parallelCalls = 0;
  #calls: TokenBucket | undefined;
  #bytes: TokenBucket | undefined;

  /** Throws if the principal may not have another session. */
  checkSessions({ maxSessions }: PrincipalQuota): void {
    if (maxSessions === undefined || this.sessions < maxSessions) return;
    throw overLimit("max_sessions", `this principal may have ${maxSessions} sessions at once`, retryMs);
  }

  /** Counts a call that begins, or throws. The caller must call `endCall` when it ends. */
  beginCall(quota: PrincipalQuota, now: number): void {
    const { maxParallelCalls, callsPerSecond, bytesPerSecond } = quota;
    if (maxParallelCalls !== undefined && this.#parallelCalls >= maxParallelCalls)
      throw overLimit("max_parallel_calls", `this principal may run ${maxParallelCalls} calls at once`, retryMs);
    const bytesWaitMs = bytesPerSecond === undefined ? 0 : this.#bytesOf(bytesPerSecond, now).waitMs(now, 0);
    if (bytesWaitMs > 0)
      throw overLimit("bytes_per_second", `this principal may use ${bytesPerSecond} bytes per second`, bytesWaitMs);
    const waitMs = callsPerSecond === undefined ? 0 : this.#callsOf(quota, callsPerSecond, now).take(now);
    if (waitMs > 0)
      throw overLimit("calls_per_second", `this principal may make ${callsPerSecond} calls per second`, waitMs);
    this.#parallelCalls += 1;
  }

  endCall(): void {
    this.#parallelCalls -= 1;
  }

  /** Counts bytes that were received or sent, if its sessions have a limit. */
  countBytes(bytes: number, now: number): void {
    const bytesPerSecond = this.quota?.bytesPerSecond;
    if (bytesPerSecond !== undefined) this.#bytesOf(bytesPerSecond, now).spend(now, bytes);
  }

  /** Whether it can be forgotten: a new one would decide the same. */
  isIdle(now: number): boolean {
    const isFull = (bucket: TokenBucket | undefined) => bucket === undefined || bucket.isFull(now);
    return this.sessions === 0 && this.#parallelCalls === 0 && isFull(this.#calls) && isFull(this.#bytes);
  }

  #callsOf({ burst }: PrincipalQuota, perSecond: number, now: number): TokenBucket {
    const most = Math.max(1, burst ?? Math.ceil(perSecond));
    this.#calls = fitting(this.#calls, perSecond, most, now);
    return this.#calls;
  }

  #bytesOf(perSecond: number, now: number): TokenBucket {
    this.#bytes = fitting(this.#bytes, perSecond, perSecond, now);
    return this.#bytes;
  }
}

/** A principal whose roles have changed, for example in its next JWT, has other limits from then on. */
function fitting(bucket: TokenBucket | undefined, perSecond: number, burst: number, now: number): TokenBucket {
  if (bucket?.perSecond === perSecond && bucket.burst === burst) return bucket;
  return new TokenBucket({ perSecond, burst, now });
}
