import type { JsonValue } from "../protocol/json.ts";

/** The result of a tool. A failure that the agent should see as a result, not as an error message, has `error`. */
export interface ToolOutput {
  data: JsonValue;
  summary?: string;
  truncated?: boolean;
  exit_code?: number;
  error?: string;
  error_code?: string;
}

/** `error: null` is not a failure: tools written without types return it. */
export function hasFailed({ error }: ToolOutput): boolean {
  return (error ?? undefined) !== undefined;
}
