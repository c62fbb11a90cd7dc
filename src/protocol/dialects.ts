// The spellings that peers use, as data. Aliases and mirrors of a message are in its capability's table; here are the
// names that the protocol itself assigns: capabilities, and the fields that each kind of peer can read.

import type { Message } from "./envelope.ts";
import { isJsonObject } from "./json.ts";
import { tableSpellings } from "./spellings.generated.ts";
import type { Call } from "./table/capability.ts";

/** The capability names that the protocol itself defines; the Python SDK accepts only these. */
export const protocolCapabilities: readonly string[] = [
  "tools",
  "memory",
  "env",
  "proc",
  "learning",
  "skill",
  "toolkits",
  "chains",
  "mcp",
  "multi_agent",
  "planning",
  "test",
];

/** Capability names with their other spellings: from the tables of this package, and of the protocol's other names. */
export const capabilitySpellings: Readonly<Record<string, readonly string[]>> = {
  learning: ["learn"],
  multi_agent: ["subagents", "subagent"],
  test: [],
  ...tableSpellings,
};

const canonicalNames = new Map<string, string>(
  Object.entries(capabilitySpellings).flatMap(([name, others]) =>
    [name, ...others].map((spelling) => [spelling, name]),
  ),
);

/** The canonical name of a capability in any of its spellings; a name that no table has is returned as it is. */
export function canonicalCapability(name: string): string {
  return canonicalNames.get(name) ?? canonicalNames.get(name.toLowerCase()) ?? name;
}

/**
 * `sdk` sends only `version` and drops a whole handshake over a single capability name outside its enum; `docs` sends
 * only `a2e` and expects the spelling it used in its request; `full` sends both, as our client does, and reads
 * everything.
 */
export type Dialect = "sdk" | "docs" | "full";

export function detectDialect(message: Message): Dialect {
  if (message.version === undefined) return message.a2e === undefined ? "sdk" : "docs";
  return message.a2e === undefined ? "sdk" : "full";
}

/** Adds the second names of result fields, to a result or to the message that carries it. */
export function addMirrors(call: Call, result: Record<string, unknown>): void {
  for (const [second, path] of call.mirrorPaths) {
    if (result[second] === undefined) {
      const value = at(result, path);
      if (value !== undefined) result[second] = value;
    }
  }
}

function at(value: unknown, path: readonly string[]): unknown {
  for (const step of path) {
    if (!isJsonObject(value)) return undefined;
    value = value[step];
  }
  return value;
}
