import type { z } from "zod";
import type { errorPayload } from "../protocol/core.ts";
import type { JsonObject } from "../protocol/json.ts";

/** An event of a call, as it reached the client. */
export interface CallEvent {
  readonly kind: string;
  readonly data: JsonObject;
  readonly seq: number;
}

/** The host answered with an error. Test `code`; `detail` contains what to fix. */
export class A2EClientError extends Error {
  readonly code: string;
  readonly retryable: boolean;
  readonly detail: JsonObject;
  readonly capability_name: string;
  readonly req_id: string;
  /** The last events that came before the error. */
  readonly events: readonly CallEvent[];

  constructor(payload: z.output<typeof errorPayload>, req_id: string, events: readonly CallEvent[] = []) {
    super(payload.message === "" ? payload.code : payload.message);
    this.name = "A2EClientError";
    this.code = payload.code;
    this.retryable = payload.retryable;
    this.detail = payload.detail;
    this.capability_name = payload.capability_name;
    this.req_id = req_id;
    this.events = events;
  }

  /** True for this code however the peer spells it: upper case, or with the prefix of its capability. */
  is(code: string): boolean {
    return plain(this.code) === plain(code);
  }
}

function plain(code: string): string {
  return code.toLowerCase().replace(/^mcp_/, "");
}

/** An error on this side: no link, a refused handshake, or no answer in time. */
export class A2EConnectionError extends Error {
  readonly code:
    | "not_connected"
    | "connection_lost"
    | "handshake_failed"
    | "timeout"
    | "aborted"
    | "invalid_answer"
    | "duplicate_id"
    /** The audit log of the host does not continue the checkpoint that this agent holds. */
    | "audit_fork";

  constructor(code: A2EConnectionError["code"], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "A2EConnectionError";
    this.code = code;
  }
}
