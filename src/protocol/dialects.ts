// Which spellings peers use, as data. Aliases and mirrors of a message stand in its capability's table; here are the
// names that the protocol itself gives away: capabilities, and what each kind of peer can read.
import type { Call } from "./capability.ts";
import type { Message } from "./envelope.ts";
import { isJsonObject } from "./json.ts";

/** Capability names of the protocol with the other spellings found in the field. */
export const capabilitySpellings: Readonly<Record<string, readonly string[]>> = {
  tools: ["tool"],
  memory: [],
  env: [],
  proc: ["procs"],
  learning: ["learn"],
  skill: ["skills"],
  toolkits: ["toolkit"],
  chains: ["chain"],
  mcp: [],
  multi_agent: ["subagents", "subagent"],
  planning: [],
  test: [],
};

export const protocolCapabilities: readonly string[] = Object.keys(capabilitySpellings);

const canonicalNames = new Map<string, string>(
  Object.entries(capabilitySpellings).flatMap(([name, others]) =>
    [name, ...others].map((spelling) => [spelling, name]),
  ),
);

/** The canonical name of a capability, whatever spelling was asked for. */
export function canonicalCapability(name: string): string {
  return canonicalNames.get(name) ?? canonicalNames.get(name.toLowerCase()) ?? name;
}

/**
 * `sdk` sends only `version` and drops a whole handshake over one capability name outside its enum; `docs` sends only
 * `a2e` and expects the spelling it asked in; `full` sends both, as our client does, and reads everything.
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
