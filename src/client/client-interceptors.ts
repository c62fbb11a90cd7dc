// Interceptors around every call of a client, similar to those of connect-es.

import type { JsonObject } from "../protocol/json.ts";
import type { Call } from "../protocol/table/capability.ts";
import type { RpcOptions } from "./rpc.ts";

/** A call that is about to be sent. To change it, pass a changed copy to `next`: `next({ ...call, request })`. */
export interface ClientCall {
  /** The call in the table of its capability; `call.type` is its type on the wire. */
  readonly call: Call;
  readonly request: object;
  readonly options: RpcOptions;
}

/** Rejects with an A2EClientError if the host answers with an error, and with an A2EConnectionError if it does not answer. */
export type ClientCallFn = (call: ClientCall) => Promise<JsonObject>;

/** Wraps every attempt of every call, the handshake included: a call that is retried passes once for each attempt. */
export type ClientInterceptor = (next: ClientCallFn) => ClientCallFn;

/** The first interceptor is the outermost. Undefined without interceptors, so that calls have no overhead. */
export function composeClientInterceptors(
  interceptors: readonly ClientInterceptor[] | undefined,
  send: ClientCallFn,
): ClientCallFn | undefined {
  if (interceptors === undefined || interceptors.length === 0) return undefined;
  return interceptors.reduceRight<ClientCallFn>((next, interceptor) => interceptor(next), send);
}
