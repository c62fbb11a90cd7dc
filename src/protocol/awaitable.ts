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
