export { isThenable } from "../protocol/awaitable.ts";

/** A promise for what is there at once or later, or is thrown. Nobody has to wait for it: its error is then nobody's. */
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
