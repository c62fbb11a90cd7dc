import type { CallEvent } from "./errors.ts";
import type { RetryOptions } from "./retry.ts";

export interface RpcOptions {
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Called for each event before the call ends; where the request can ask for streaming, it then does. */
  onEvent?(event: CallEvent): void;
  retry?: RetryOptions;
  /**
   * The id of the request, where the caller wants to choose it. A request that comes again under the id of an earlier one,
   * also from another client of the session, is not run again: it gets the answer of that one, or joins it.
   */
  id?: string;
}
