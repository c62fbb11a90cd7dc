import { isThenable } from "./thenable.ts";

/** Whoever does not finish closing by then is left behind: what contains it ends all the same. */
export const closeTimeoutMs = 5_000;

/** Rejects with what `close` throws, or where it takes too long. */
export async function closeWithin(close: () => unknown, timeoutMs: number = closeTimeoutMs): Promise<void> {
  const work = close();
  if (!isThenable(work)) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not closed within ${timeoutMs} ms`)), timeoutMs);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
