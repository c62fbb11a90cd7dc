// All calls of the product, for tests of rights.
import { tables } from "../caps/tables.generated.ts";
import { core } from "../protocol/core.ts";
import type { Capability } from "../protocol/table/capability.ts";
import { shortType, type TableCall } from "./call-facts.ts";

const capabilities: readonly Capability[] = [core, ...Object.values(tables)];

export const tableCalls: readonly TableCall[] = capabilities.flatMap((capability) =>
  Object.entries(capability.calls).map(([name, call]) => ({ capability, name, call })),
);

/** A call by its short type: `tool/call`. */
export function callOf(type: string): TableCall {
  const found = tableCalls.find(({ call }) => shortType(call.type) === type);
  if (found === undefined) throw new Error(`no call ${type}`);
  return found;
}
