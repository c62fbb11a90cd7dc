// The plugins of a host: their names, their ranks and their tables.
import { core } from "../protocol/core.ts";
import { canonicalCapability } from "../protocol/dialects.ts";
import type { Capability } from "../protocol/table/capability.ts";
import { createTypeRegistry, type TypeRegistry } from "../protocol/table/registry.ts";
import type { LoadedPlugin, Plugin } from "./plugin.ts";

/** A plugin with its name and rank in the host. A plugin without an entry is named after its capability. */
export interface PluginEntry {
  plugin: Plugin;
  name?: string;
  priority?: number;
  exclusive?: boolean;
}

export function toLoaded(item: Plugin | PluginEntry): LoadedPlugin {
  const entry: PluginEntry = "plugin" in item ? item : { plugin: item };
  const { plugin } = entry;
  return {
    plugin,
    name: entry.name ?? plugin.capability.name,
    priority: entry.priority ?? plugin.priority ?? 0,
    exclusive: entry.exclusive ?? plugin.exclusive ?? false,
  };
}

/**
 * The plugins of each capability, highest priority first. Equal priorities keep the order of the config. An exclusive
 * plugin is the only plugin of its capability.
 */
export function rankPlugins(plugins: readonly LoadedPlugin[]): Map<string, LoadedPlugin[]> {
  const byCapability = new Map<string, LoadedPlugin[]>();
  for (const loaded of [...plugins].sort((one, other) => other.priority - one.priority)) {
    const { name } = loaded.plugin.capability;
    byCapability.set(name, [...(byCapability.get(name) ?? []), loaded]);
  }
  for (const [name, ranked] of byCapability) {
    const sole = ranked.find((loaded) => loaded.exclusive);
    if (sole !== undefined) byCapability.set(name, [sole]);
  }
  return byCapability;
}

/** Two plugins of one capability must share its table: the same value, not a copy that may differ. */
export function registryOf(plugins: readonly LoadedPlugin[]): TypeRegistry {
  const tables = new Map<string, Capability>();
  for (const { name, plugin } of plugins) {
    checkName(name, plugin.capability.name);
    const known = tables.get(plugin.capability.name);
    if (known !== undefined && known !== plugin.capability) {
      throw new Error(`plugin "${name}" brings a second table for the capability "${plugin.capability.name}"`);
    }
    tables.set(plugin.capability.name, plugin.capability);
  }
  return createTypeRegistry(tables.values());
}

/**
 * Agents may use any spelling of a capability. Tables must use the canonical spelling, because grants and routes do.
 */
function checkName(pluginName: string, name: string): void {
  const canonical = canonicalCapability(name);
  if (canonical !== name)
    throw new Error(`plugin "${pluginName}" calls its capability "${name}"; the protocol calls it "${canonical}"`);
  if (name === core.name)
    throw new Error(`plugin "${pluginName}" calls its capability "core", which is the host's own`);
}
