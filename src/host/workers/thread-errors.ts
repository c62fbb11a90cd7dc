// Errors lose their class on the way between threads; what the protocol needs of them does not.
import { A2EError } from "../../protocol/errors.ts";
import type { ThreadError } from "./plugin-messages.ts";

export function toThreadError(thrown: unknown): ThreadError {
  if (!(thrown instanceof A2EError))
    return { message: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown) };
  const { message, code, detail, retryable } = thrown;
  return { message, code, detail, retryable };
}

export function fromThreadError({ message, code, detail, retryable }: ThreadError): Error {
  if (code === undefined) return new Error(message);
  return new A2EError(code, message, {
    ...(detail === undefined ? {} : { detail }),
    ...(retryable === undefined ? {} : { retryable }),
  });
}
