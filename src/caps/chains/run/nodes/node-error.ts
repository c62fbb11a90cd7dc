// The error of a node, for its agent.
import { isLargerThan } from "../../../../machinery/validation/json-size.ts";
import { A2EError } from "../../../../protocol/errors.ts";
import type { JsonObject, JsonValue } from "../../../../protocol/json.ts";
import { chainLimits } from "../../limits.ts";

export type NodeError = { code: string; message: string; detail: JsonObject };

export function toNodeError(thrown: unknown): NodeError {
  if (thrown instanceof A2EError) {
    const { code, message, detail } = thrown;
    const isLarge = isLargerThan(detail, chainLimits.maxErrorDetailBytes);
    return { code, message: message.slice(0, chainLimits.maxErrorLength), detail: isLarge ? {} : detail };
  }
  // All other errors come from expressions, and describe the agent's own text.
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return { code: "bad_expression", message: message.slice(0, chainLimits.maxErrorLength), detail: {} };
}

export function isRetryable(thrown: unknown): boolean {
  return thrown instanceof A2EError && thrown.retryable;
}

/** A tool or skill that answered with a failure. */
export function toolFailed(name: string, error: JsonValue | undefined, code: JsonValue | undefined): A2EError {
  const message = typeof error === "string" && error !== "" ? error : `"${name}" failed`;
  return new A2EError("runtime_error", message, {
    retryable: true,
    detail: typeof code === "string" && code !== "" ? { error_code: code } : {},
  });
}

export function noList(nodeId: string, found: JsonValue): A2EError {
  return new A2EError("schema_violation", `the items of "${nodeId}" are not a list but ${preview(found)}`, {
    retryable: false,
  });
}

/** A short text for a value of any size. */
export function preview(value: JsonValue): string {
  if (isLargerThan(value, 1000)) return typeof value === "string" ? "a long text" : "a large value";
  return JSON.stringify(value).slice(0, 60);
}

export function tooManyItems(nodeId: string, count: number, max: number): A2EError {
  return new A2EError("schema_violation", `"${nodeId}" has ${count} items; the host allows ${max} (max_items)`, {
    retryable: false,
  });
}

export function tooManyItemsInAll(nodeId: string, max: number): A2EError {
  const message = `with "${nodeId}" the maps of this run have more than ${max} items together (max_run_items)`;
  return new A2EError("schema_violation", message, { retryable: false });
}

export function inputTooLarge(maxBytes: number): A2EError {
  return new A2EError("schema_violation", `its input takes more than ${maxBytes} bytes, or is nested too deeply`, {
    retryable: false,
  });
}

export function outputTooLarge(maxBytes: number): A2EError {
  return new A2EError("runtime_error", `its output takes more than ${maxBytes} bytes, or is nested too deeply`, {
    retryable: false,
  });
}

export function outputsTooLarge(maxBytes: number): A2EError {
  const message = `the large outputs of this run take more than ${maxBytes} bytes together (max_kept_bytes)`;
  return new A2EError("runtime_error", message, { retryable: false });
}

export function outputNotKept(cause: unknown): A2EError {
  return new A2EError("internal_error", "its output could not be stored; see the host's log for the reason", { cause });
}

export function approvalDenied(nodeId: string, comment: string): A2EError {
  const why = comment === "" ? "" : `: ${comment}`;
  return new A2EError("approval_denied", `"${nodeId}" was not approved${why}`, {
    retryable: false,
    detail: { comment },
  });
}

export function procFailed(name: string, why: string, detail: JsonObject): A2EError {
  return new A2EError("runtime_error", `"${name}" ${why}`, { detail, retryable: true });
}
