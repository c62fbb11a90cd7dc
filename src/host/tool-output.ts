import type { JsonValue } from "../protocol/json.ts";

/** What a tool returns. A failure that the agent should see as a result, not as an error, has `error`. */
export interface ToolOutput {
  data: JsonValue;
  summary?: string;
  truncated?: boolean;
  exit_code?: number;
  error?: string;
  error_code?: string;
}

/** Null is no error either: tools written without types say so. */
export function hasFailed({ error }: ToolOutput): boolean {
  return (error ?? undefined) !== undefined;
}
