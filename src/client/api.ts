// Typed calls of a table. The tables are passed in by the user of the client: the client itself names no capability.
import type { Call, Capability, RequestInputOf, ResultOf } from "../protocol/table/capability.ts";
import type { RpcOptions } from "./rpc.ts";

export type CapabilityApi<C extends Capability> = {
  readonly [Name in keyof C["calls"]]: C["calls"][Name] extends Call
    ? (request?: RequestInputOf<C["calls"][Name]>, options?: RpcOptions) => Promise<ResultOf<C["calls"][Name]>>
    : never;
};

/** The members of a client that an API needs. */
interface Caller {
  rpc<C extends Call>(call: C, request: RequestInputOf<C>, options?: RpcOptions): Promise<ResultOf<C>>;
}

export function createApi<C extends Capability>(client: Caller, capability: C): CapabilityApi<C> {
  const api: Record<string, (request?: Record<string, unknown>, options?: RpcOptions) => Promise<unknown>> = {};
  for (const [name, call] of Object.entries(capability.calls)) {
    api[name] = (request = {}, options = {}) => client.rpc(call, request, options);
  }
  return api as CapabilityApi<C>;
}
