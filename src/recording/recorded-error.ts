// An error as it stands in a recording: enough to fail in the same way again.
import { z } from "zod";
import { A2EError } from "../protocol/errors.ts";
import { jsonObject } from "../protocol/json.ts";

export const recordedError = z.object({
  message: z.string(),
  code: z.string().optional(),
  /** Those that go to the agent as they are. */
  answer: z.object({ detail: jsonObject, retryable: z.boolean(), capability_name: z.string() }).optional(),
});

export type RecordedError = z.output<typeof recordedError>;

export function toRecordedError(thrown: unknown): RecordedError {
  if (thrown instanceof A2EError) {
    const { message, code, detail, retryable, capability_name } = thrown;
    return { message, code, answer: { detail, retryable, capability_name } };
  }
  if (!(thrown instanceof Error)) return { message: String(thrown) };
  const { code } = thrown as NodeJS.ErrnoException;
  return typeof code === "string" ? { message: thrown.message, code } : { message: thrown.message };
}

export function fromRecordedError({ message, code, answer }: RecordedError): Error {
  if (answer !== undefined) return new A2EError(code ?? "runtime_error", message, answer);
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}
