import type { Charge } from "../plugin/usage.ts";

/**
 * Charges each second of a process before it begins, so a budget is never exceeded. Throws if there is no budget for the
 * first second. Calls `stop` once if there is none for a later one. Returns a function to call when the process has ended.
 */
export function chargeSeconds(charge: Charge | undefined, stop: () => void): () => void {
  if (charge === undefined) return () => {};
  charge("process_seconds", 1);
  const timer = setInterval(() => {
    try {
      charge("process_seconds", 1);
    } catch {
      clearInterval(timer);
      stop();
    }
  }, 1_000).unref();
  return () => clearInterval(timer);
}
