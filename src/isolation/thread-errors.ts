// Errors lose their class on the way between threads; what the protocol needs of them does not.
import { A2EError } from "../protocol/errors.ts";
import { copyJson } from "../protocol/json.ts";
import type { ThreadError } from "./plugin-messages.ts";

/** Never throws, and what it returns can be sent: handlers throw anything, and whoever sends it must get it across. */
export function toThreadError(thrown: unknown): ThreadError {
  try {
    if (!(thrown instanceof A2EError))
      return { message: String(thrown instanceof Error ? (thrown.stack ?? thrown.message) : thrown) };
    const { message, code, detail, retryable } = thrown;
    return { message, code, detail: copyJson(detail), retryable };
  } catch (cause) {
    return { message: `something was thrown that cannot be told: ${(cause as Error).message}` };
  }
}

export function fromThreadError({ message, code, detail, retryable }: ThreadError): Error {
  if (code === undefined) return new Error(message);
  return new A2EError(code, message, {
    ...(detail === undefined ? {} : { detail }),
    ...(retryable === undefined ? {} : { retryable }),
  });
}
