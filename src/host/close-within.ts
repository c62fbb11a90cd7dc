import { isThenable } from "./thenable.ts";

/** Whoever does not finish closing by then is left behind: what contains it ends all the same. */
const closeTimeoutMs = 5_000;

/** Rejects with what `close` throws, or where it takes too long: counted from now, or from when `start` aborts. */
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
