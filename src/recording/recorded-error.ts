// An error as it stands in a recording: enough to fail in the same way again.
import { z } from "zod";
import { fromErrorJson, toErrorJson } from "../protocol/errors.ts";
import { jsonObject } from "../protocol/json.ts";

export const recordedError = z.object({
  message: z.string(),
  code: z.string().optional(),
  /** Only of an A2EError, which goes to the agent as it is. */
  answer: z.object({ detail: jsonObject, retryable: z.boolean(), capability_name: z.string() }).optional(),
});

export type RecordedError = z.output<typeof recordedError>;

export function toRecordedError(thrown: unknown): RecordedError {
  const { message, code, detail, retryable, capability_name } = toErrorJson(thrown);
  return {
    message,
    ...(code === undefined ? {} : { code }),
    ...(detail === undefined || retryable === undefined || capability_name === undefined
      ? {}
      : { answer: { detail, retryable, capability_name } }),
  };
}

export function fromRecordedError({ message, code, answer }: RecordedError): Error {
  return fromErrorJson({ message, ...(code === undefined ? {} : { code }), ...answer });
}
