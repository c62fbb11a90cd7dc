// What a node fails with, in words that its agent may read.
import { A2EError } from "../../../protocol/errors.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import type { NodeError } from "./run-port.ts";

export function toNodeError(thrown: unknown): NodeError {
  if (thrown instanceof A2EError) return { code: thrown.code, message: thrown.message, detail: thrown.detail };
  // Only expressions throw anything else, and they speak of what the agent has written.
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return { code: "bad_expression", message, detail: {} };
}

export function isRetryable(thrown: unknown): boolean {
  return thrown instanceof A2EError && thrown.retryable;
}

/** A tool or skill that answered, and said in its answer that it has failed. */
export function toolFailed(name: string, error: JsonValue | undefined, code: JsonValue | undefined): A2EError {
  const message = typeof error === "string" && error !== "" ? error : `"${name}" failed`;
  return new A2EError("runtime_error", message, {
    retryable: true,
    detail: typeof code === "string" && code !== "" ? { error_code: code } : {},
  });
}

export function noList(nodeId: string, found: JsonValue): A2EError {
  const text = JSON.stringify(found).slice(0, 60);
  return new A2EError("schema_violation", `the items of "${nodeId}" are no list but ${text}`, { retryable: false });
}

export function tooManyItems(nodeId: string, count: number, max: number): A2EError {
  return new A2EError("schema_violation", `"${nodeId}" has ${count} items; the host takes ${max} (max_items)`, {
    retryable: false,
  });
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
