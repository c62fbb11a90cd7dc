import type { CallEvent } from "./errors.ts";
import type { RetryOptions } from "./retry.ts";

export interface RpcOptions {
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Called for each event before the call ends; requests streaming if the request supports it. */
  onEvent?(event: CallEvent): void;
  retry?: RetryOptions;
  /** The trace that the call belongs to, in the form of the header `traceparent` of W3C Trace Context. */
  traceparent?: string;
  /**
   * The id of the request, if the caller wants to choose it. A request with the id of an earlier request, also from
   * another client of the session, is not run again: it gets the answer of the earlier one, or waits for it.
   */
  id?: string;
}
