import type { CallEvent } from "./errors.ts";
import type { RetryOptions } from "./retry.ts";

export interface RpcOptions {
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Called for each event before the call ends; where the request can ask for streaming, it then does. */
  onEvent?(event: CallEvent): void;
  retry?: RetryOptions;
}
