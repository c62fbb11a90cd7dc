import { isThenable } from "../../protocol/awaitable.ts";

/** The host waits this long for a plugin or a part to close, then logs an error and continues. */
const closeTimeoutMs = 5_000;

/**
 * Rejects if `close` fails or takes longer than `timeoutMs`, counted from now or from the moment when `start` aborts.
 */
export async function closeWithin(
  close: () => unknown,
  timeoutMs: number = closeTimeoutMs,
  start?: AbortSignal,
): Promise<void> {
  const work = close();
  if (!isThenable(work)) return;
  let timer: NodeJS.Timeout | undefined;
  let count = () => {};
  const late = new Promise<never>((_, reject) => {
    count = () => {
      timer = setTimeout(() => reject(new Error(`not closed within ${timeoutMs} ms`)), timeoutMs);
    };
  });
  if (start === undefined || start.aborted) count();
  else start.addEventListener("abort", count, { once: true });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    start?.removeEventListener("abort", count);
  }
}
