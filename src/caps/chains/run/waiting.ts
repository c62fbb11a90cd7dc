// Pauses and deadlines that end early where their work does.
import { A2EError } from "../../../protocol/errors.ts";

/** The longest time that a timer takes; of a longer one it makes a millisecond. */
const maxTimerMs = 2 ** 31 - 1;

/** As setTimeout, for times that others have chosen. */
export function startTimer(ms: number, callback: () => void): NodeJS.Timeout {
  return setTimeout(callback, Math.min(ms, maxTimerMs));
}

/** Rejects with the signal's reason. */
export function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      stop.removeEventListener("abort", cancel);
      resolve();
    }, ms);
    const cancel = () => {
      clearTimeout(timer);
      reject(stop.reason);
    };
    if (stop.aborted) cancel();
    else stop.addEventListener("abort", cancel, { once: true });
  });
}

/** The time of a node that consists of others: when it is over, `signal` stops them. 0 is no limit. */
export function startTime(
  nodeId: string,
  timeoutMs: number,
  outer: AbortSignal | undefined,
): { readonly signal: AbortSignal | undefined; end(): void } {
  if (timeoutMs === 0) return { signal: outer, end: () => {} };
  const controller = new AbortController();
  const expired = new A2EError("timeout", `"${nodeId}" did not end within ${timeoutMs / 1000} s`);
  const timer = startTimer(timeoutMs, () => controller.abort(expired));
  const signal = outer === undefined ? controller.signal : AbortSignal.any([controller.signal, outer]);
  return { signal, end: () => clearTimeout(timer) };
}
