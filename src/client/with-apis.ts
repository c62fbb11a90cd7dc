import type { Capability } from "../protocol/table/capability.ts";
import type { CapabilityApi } from "./api.ts";
import type { A2EClient } from "./client.ts";

/** A client with a property per table: `client.tools.call({ … })`. */
export type WithApis<Tables extends Record<string, Capability>> = A2EClient & {
  readonly [Name in keyof Tables]: CapabilityApi<Tables[Name]>;
};

/** Adds the APIs to the client itself, each made when it is first used. */
export function withApis<Tables extends Record<string, Capability>>(
  client: A2EClient,
  tables: Tables,
): WithApis<Tables> {
  for (const [name, capability] of Object.entries(tables)) {
    Object.defineProperty(client, name, { get: () => client.use(capability), enumerable: true, configurable: true });
  }
  return client as WithApis<Tables>;
}
