// Values that are there, or come later. Most environments answer at once, and waiting for what is there costs a turn.
import { isThenable } from "../../host/thenable.ts";

export type Awaitable<Value> = Value | Promise<Value>;

/** Goes on with a value, at once where it is there. */
export function andThen<Value, Next>(
  value: Awaitable<Value>,
  next: (value: Value) => Awaitable<Next>,
): Awaitable<Next> {
  return isThenable(value) ? Promise.resolve(value).then(next) : next(value as Value);
}
