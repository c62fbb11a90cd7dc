// Negotiation: which of the requested capabilities an agent gets, and how its dialect spells the answer.

import type { LoadedPlugin } from "../../plugin/plugin.ts";
import type { handshake } from "../../protocol/core.ts";
import { canonicalCapability, type Dialect, protocolCapabilities } from "../../protocol/dialects.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { ResultInputOf } from "../../protocol/table/capability.ts";

type AcceptedCaps = NonNullable<ResultInputOf<typeof handshake>["accepted_caps"]>;

export interface Negotiation {
  /** Canonical names. */
  readonly granted: ReadonlySet<string>;
  readonly accepted_caps: AcceptedCaps;
  /** The agent asked for capabilities of the protocol, and was granted nothing. */
  readonly isFruitless: boolean;
}

export function negotiate(
  asked: readonly string[],
  dialect: Dialect,
  available: ReadonlyMap<string, readonly LoadedPlugin[]>,
): Negotiation {
  const granted = new Set<string>();
  const seen = new Set<string>();
  const accepted_caps: AcceptedCaps = [];
  let isAnyKnown = false;
  for (const spelling of new Set(asked)) {
    const name = canonicalName(spelling, available);
    if (seen.has(name)) continue;
    seen.add(name);
    const plugins = available.get(name) ?? withFeature(name, available);
    const isOfProtocol = protocolCapabilities.includes(name);
    isAnyKnown ||= isOfProtocol;
    if (plugins !== undefined) granted.add(name);
    // The SDK drops the whole handshake over a name outside of its enum, so the answer omits it, even if it is granted.
    if (dialect === "sdk" && !isOfProtocol) continue;
    const metadata: JsonObject = plugins === undefined ? { reason: missing(name, isOfProtocol) } : describe(plugins);
    if (spelling !== name) metadata.alias = spelling;
    accepted_caps.push({ capability: dialect === "docs" ? spelling : name, enabled: plugins !== undefined, metadata });
  }
  return { granted, accepted_caps, isFruitless: isAnyKnown && granted.size === 0 };
}

/** Looks a spelling up in src/protocol/dialects.ts first, then in the tables of the loaded plugins. */
function canonicalName(spelling: string, available: ReadonlyMap<string, readonly LoadedPlugin[]>): string {
  const name = canonicalCapability(spelling);
  if (available.has(name)) return name;
  for (const [loaded, plugins] of available)
    if (plugins.some(({ plugin }) => plugin.capability.spellings.includes(spelling))) return loaded;
  return name;
}

/** The plugins of the capability that declares this feature. */
function withFeature(
  name: string,
  available: ReadonlyMap<string, readonly LoadedPlugin[]>,
): readonly LoadedPlugin[] | undefined {
  for (const plugins of available.values())
    if (plugins.some(({ plugin }) => Object.hasOwn(plugin.capability.features, name))) return plugins;
  return undefined;
}

function missing(name: string, isOfProtocol: boolean): string {
  return isOfProtocol ? `this host has no plugin for "${name}"` : `"${name}" is no capability of this host`;
}

function describe(plugins: readonly LoadedPlugin[]): JsonObject {
  const [first] = plugins;
  if (first === undefined) return {};
  return { name: first.name, type: first.plugin.capability.name, priority: first.priority, exclusive: first.exclusive };
}
