// What rights need to know of a call: its names, and what it is about.
import type { Access } from "../protocol/table/about.ts";
import type { Call, Capability } from "../protocol/table/capability.ts";

/** A call with its place in its table, as the type registry has it. */
export interface TableCall {
  readonly capability: Capability;
  /** The name of the call in its table. */
  readonly name: string;
  readonly call: Call;
}

export interface CallFacts {
  /** The capability, followed by its other spellings. */
  readonly capabilities: readonly string[];
  /** The name of the call in its table: `createPlan`. */
  readonly name: string;
  readonly type: string;
  readonly access: Access;
  readonly resource?: string;
}

export function factsOf({ capability, name, call }: TableCall): CallFacts {
  const { access, resource } = call.about;
  const capabilities = [capability.name, ...capability.spellings];
  return { capabilities, name, type: call.type, access, ...(resource === undefined ? {} : { resource }) };
}

/** The name of a call for people: its type without `/req`, as in `tool/call`. */
export function shortType(type: string): string {
  return type.endsWith("/req") ? type.slice(0, -"/req".length) : type;
}

/**
 * All names that a pattern may use for a call: `tool/call` by its type, `tools/call` as a client has it. Aliases of the
 * type are not names: `mcp/call_tool` is a call of `tools`, and a pattern for `mcp/*` must not include it.
 */
export function callNames({ capabilities, name, type }: CallFacts): string[] {
  return [...new Set([shortType(type), ...capabilities.map((capability) => `${capability}/${name}`)])];
}
