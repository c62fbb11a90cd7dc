export { isThenable } from "../protocol/awaitable.ts";

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
