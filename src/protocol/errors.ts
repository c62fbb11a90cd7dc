// Errors are values on the wire and exceptions inside. Callers test `error.code`.
import { copyJson, type JsonObject } from "./json.ts";

/** The codes that belong to no capability, and whether trying again can help. */
export const coreErrors = {
  parse_error: { retryable: false, doc: "The line is not JSON." },
  invalid_message: {
    retryable: false,
    doc: "JSON, but not a message that a host takes: an array, a response, an oversized line.",
  },
  schema_violation: { retryable: false, doc: "A field has the wrong shape; `detail.issues` names it." },
  unknown_type: { retryable: false, doc: "No capability of this host has such a message." },
  version_mismatch: { retryable: false, doc: "The peer speaks another major version." },
  unauthorized: { retryable: false, doc: "No handshake yet, or the handshake failed." },
  forbidden: { retryable: false, doc: "The principal may not do this." },
  capability_missing: { retryable: false, doc: "The capability was not negotiated in the handshake." },
  rate_limited: { retryable: true, doc: "Too many calls; retry after `detail.retry_after_ms`." },
  timeout: { retryable: true, doc: "The call took longer than its timeout." },
  cancelled: { retryable: false, doc: "The call was cancelled by its agent, or by a shutdown." },
  out_of_memory: { retryable: true, doc: "A sandbox reached its memory limit." },
  sandbox_crash: { retryable: true, doc: "A sandbox or worker ended unexpectedly." },
  runtime_error: { retryable: true, doc: "The operation failed for a reason outside the request." },
  internal_error: { retryable: false, doc: "A defect on the host; its log has the cause." },
} as const satisfies ErrorTable;

export type ErrorTable = Record<string, { readonly retryable: boolean; readonly doc: string }>;
export type CoreErrorCode = keyof typeof coreErrors;

export interface ErrorOptions {
  detail?: JsonObject;
  retryable?: boolean;
  capability_name?: string;
  cause?: unknown;
}

/** Thrown by a handler to answer with an error. Its text is sent to the peer: name what to fix. */
export class A2EError extends Error {
  readonly code: string;
  readonly detail: JsonObject;
  readonly retryable: boolean;
  readonly capability_name: string;

  constructor(code: CoreErrorCode | (string & {}), message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "A2EError";
    this.code = code;
    this.detail = options.detail ?? {};
    this.retryable =
      options.retryable ?? (Object.hasOwn(coreErrors, code) && coreErrors[code as CoreErrorCode].retryable);
    this.capability_name = options.capability_name ?? "";
  }
}

/**
 * An error that answers a message which never became a call. It has no stack: collecting one takes a third of the time of
 * a refusal, and would show nothing, since the message is at fault and not the code that read it.
 */
export function refusal(code: CoreErrorCode, message: string, options?: ErrorOptions): A2EError {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return new A2EError(code, message, options);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Throws in an expression: `map.get(name) ?? fail(new A2EError(…))`. */
export function fail(error: Error): never {
  throw error;
}

/** An error as JSON, for another thread or a recording: enough to throw an equal error there. */
export interface ErrorJson {
  message: string;
  /** Also of errors of Node, such as `ENOENT`. */
  code?: string;
  /** Of an A2EError, and of no other. */
  detail?: JsonObject;
  retryable?: boolean;
  capability_name?: string;
}

/** Never throws, for any thrown value: its result must reach the other thread. */
export function toErrorJson(thrown: unknown): ErrorJson {
  try {
    if (thrown instanceof A2EError) {
      const { message, code, retryable, capability_name } = thrown;
      return { message, code, detail: copyJson(thrown.detail), retryable, capability_name };
    }
    if (!(thrown instanceof Error)) return { message: String(thrown) };
    const { message, code } = thrown as Error & { code?: unknown };
    return typeof code === "string" ? { message, code } : { message };
  } catch (cause) {
    return { message: `an error that has no JSON form was thrown: ${(cause as Error).message}` };
  }
}

export function fromErrorJson({ message, code, detail, retryable, capability_name }: ErrorJson): Error {
  if (retryable === undefined) return Object.assign(new Error(message), code === undefined ? {} : { code });
  return new A2EError(code ?? "runtime_error", message, {
    retryable,
    ...(detail === undefined ? {} : { detail }),
    ...(capability_name === undefined ? {} : { capability_name }),
  });
}

/** The text of a thrown value, which need not be an Error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
