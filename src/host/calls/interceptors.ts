// Interceptors wrap every call of a host, for rules that apply to all capabilities and do not belong in the kernel. As in
// connect-es, an interceptor gets the next function and returns a function that wraps it.

import type { SessionInfo } from "../../plugin/call-context.ts";
import type { JsonObject } from "../../protocol/json.ts";

/** A call before its handler runs: it was admitted and checked against its table, and has a slot. */
export interface InterceptedCall {
  /** The type of the request on the wire, as in `memory/store/req`. */
  readonly type: string;
  /** The name of its capability, as in `memory`; `core` for the host's own calls. */
  readonly capability: string;
  /** The name of the call in the table of its capability, as in `store`. */
  readonly name: string;
  readonly id: string;
  /** A plugin chose the id of this nested call, to recognise a repetition: other calls may have the same id. */
  readonly hasChosenId: boolean;
  /**
   * The request with its defaults filled in. Assign another request to replace it for the handler; the setter throws an
   * A2EError if it does not fit the table.
   */
  request: JsonObject;
  readonly session: SessionInfo;
  /** The call did not come from the wire: a handler made it, or a plugin in the background. */
  readonly isNested: boolean;
  /** The call whose handler made this call; undefined for calls from the wire and in the background. */
  readonly caller: InterceptedCall | undefined;
  /** In milliseconds since 1970. */
  readonly startedAt: number;
  /**
   * The trace that the call belongs to, in the form of the header of W3C Trace Context; from the message, or from the call
   * that made this one. Not checked. An interceptor that traces calls replaces it by its own, which handlers send on.
   */
  traceparent: string | undefined;
  /** Aborted if the call is cancelled, times out or its session ends. Created on first use. */
  readonly signal: AbortSignal;
}

/**
 * Returns the result of a call, or throws. Throw an A2EError to answer with it; any other error is logged and answered with
 * `internal_error`. The result is checked against the table after the last interceptor.
 */
export type CallFn = (call: InterceptedCall) => JsonObject | Promise<JsonObject>;

/**
 * `next` must be given the same call object. A call stays synchronous if no function in the chain returns a promise: return
 * the result of `next` directly if it needs no processing.
 *
 * A call that times out or is cancelled is answered at that moment; `next` settles when its handler does, and the result
 * is dropped.
 */
export type Interceptor = (next: CallFn) => CallFn;
