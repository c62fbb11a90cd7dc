import { maxTimerMs } from "../protocol/timers.ts";
import { A2EClientError } from "./errors.ts";

export interface RetryOptions {
  /** All attempts together, the first included. */
  maxAttempts?: number;
  firstDelayMs?: number;
  maxDelayMs?: number;
}

/**
 * Doubles with each attempt; half of it is random, so that clients cut off together do not reconnect at the same
 * moment.
 */
export function backoffMs(
  attempt: number,
  { firstDelayMs = 100, maxDelayMs = 30_000 }: RetryOptions,
  random = Math.random,
): number {
  const ceiling = Math.min(maxDelayMs, firstDelayMs * 2 ** (attempt - 1));
  return ceiling / 2 + (random() * ceiling) / 2;
}

/**
 * Repeats calls that fail with a retryable error, after the delay that the host names or a growing backoff; finally
 * throws the last error.
 */
export async function withRetry<Value>(
  attempt: () => Promise<Value>,
  retry: RetryOptions,
  pause: (delayMs: number) => Promise<void>,
): Promise<Value> {
  for (let count = 1; ; count++) {
    try {
      return await attempt();
    } catch (error) {
      const isLast = count >= (retry.maxAttempts ?? 3);
      if (isLast || !(error instanceof A2EClientError) || !error.retryable) throw error;
      const asked = error.detail.retry_after_ms;
      await pause(typeof asked === "number" ? asked : backoffMs(count, retry));
    }
  }
}

export function wait(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      },
      Math.min(delayMs, maxTimerMs),
    );
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
