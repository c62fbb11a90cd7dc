// Values that are there at once or come later. Most handlers answer at once, and awaiting a value that is there costs a turn.

export type Awaitable<Value> = Value | Promise<Value>;

/** Whether a value has to be awaited: also a promise of another realm or library. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}

/** Continues with a value: at once if it is there. */
export function andThen<Value, Next>(
  value: Awaitable<Value>,
  next: (value: Value) => Awaitable<Next>,
): Awaitable<Next> {
  return isThenable(value) ? Promise.resolve(value).then(next) : next(value as Value);
}

/**
 * Returns the outcome of `start` as a promise. If `start` throws, the rejection does not count as unhandled, even if
 * the caller ignores the promise.
 */
export function toPromise<Value>(start: () => Value | Promise<Value>): Promise<Value> {
  try {
    const outcome = start();
    return outcome instanceof Promise ? outcome : Promise.resolve(outcome);
  } catch (error) {
    const failed = Promise.reject(error);
    failed.catch(() => {});
    return failed;
  }
}
