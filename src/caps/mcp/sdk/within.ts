// Waiting with a limit.

/** Waits for a promise until a signal aborts; the work behind the promise continues. */
export function within<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return promise;
  if (signal.aborted) {
    promise.catch(() => {});
    return Promise.reject(signal.reason);
  }
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** Waits for `ms` or until the signal aborts; true if the time elapsed. */
export function sleep(ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(false);
    const stop = () => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve(true);
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}

export async function isDoneWithin(done: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([done.then(() => true as const), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The value of a promise, or `otherwise` if it rejects or takes longer; the work behind the promise continues. */
export async function inTime<Value>(promise: Promise<Value>, ms: number, otherwise: Value): Promise<Value> {
  let value = otherwise;
  const known = promise.then(
    (given) => {
      value = given;
    },
    () => {},
  );
  await isDoneWithin(known, ms);
  return value;
}
