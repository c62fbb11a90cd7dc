// Pauses and deadlines that end early when their work does.
import type { SessionContext } from "../../../plugin/plugin.ts";
import { A2EError } from "../../../protocol/errors.ts";
import { maxTimerMs } from "../../../protocol/timers.ts";
import type { RunPort } from "./run-port.ts";

/** A timer of a session. Its callback counts as an input from outside, so a replay does not wait for it. */
export function startTimer(context: Pick<SessionContext, "fromOutside">, ms: number, callback: () => void): () => void {
  const ring = context.fromOutside((_message: null) => {
    stop();
    callback();
  });
  const timer = setTimeout(() => ring(null), Math.min(ms, maxTimerMs));
  const stop = () => clearTimeout(timer);
  return stop;
}

/** Rejects with the signal's reason. */
export function pause(port: Pick<RunPort, "startTimer">, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = port.startTimer(ms, () => {
      signal.removeEventListener("abort", cancel);
      resolve();
    });
    const cancel = () => {
      stop();
      reject(signal.reason);
    };
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel, { once: true });
  });
}

/** The timeout of a node that runs other nodes: `signal` stops them when it elapses. 0 means no limit. */
export function startTime(
  port: Pick<RunPort, "startTimer">,
  nodeId: string,
  timeoutMs: number,
  outer: AbortSignal | undefined,
): { readonly signal: AbortSignal | undefined; end(): void } {
  if (timeoutMs === 0) return { signal: outer, end: () => {} };
  const controller = new AbortController();
  const expired = new A2EError("timeout", `"${nodeId}" did not end within ${timeoutMs / 1000} s`);
  const end = port.startTimer(timeoutMs, () => controller.abort(expired));
  const signal = outer === undefined ? controller.signal : AbortSignal.any([controller.signal, outer]);
  return { signal, end };
}
