// Data and services that all sessions of one host share, computed once: tables, routes, limits.

import type { Deadlines } from "../machinery/pacing/deadlines.ts";
import type { IntakeSchedule } from "../machinery/pacing/intake-schedule.ts";
import type { Logger } from "../plugin/logger.ts";
import type { LoadedPlugin } from "../plugin/plugin.ts";
import type { ToolCatalogue } from "../plugin/tool-catalogue.ts";
import { core } from "../protocol/core.ts";
import { canonicalCapability } from "../protocol/dialects.ts";
import type { Limits } from "../protocol/limits.ts";
import type { Capability } from "../protocol/table/capability.ts";
import { createTypeRegistry, type TypeRegistry } from "../protocol/table/registry.ts";
import type { Authenticate } from "./authentication.ts";
import type { CallFn } from "./calls/interceptors.ts";
import type { AuditEntry, AuditLog } from "./ports/audit.ts";
import type { Journal } from "./ports/journal.ts";
import type { SnapshotMode, SnapshotSchedule, SnapshotStore } from "./ports/snapshot-store.ts";
import type { Sources } from "./sources.ts";

export interface Kernel extends Sources {
  readonly hostId: string;
  /** The id of a session in the audit log. */
  readonly auditSessionId: (sessionId: string) => string;
  readonly isHandshakeRequired: boolean;
  readonly limits: Limits;
  readonly log: Logger;
  readonly audit: AuditLog;
  /** One object for all audit entries, overwritten for each message: an audit log must not retain it. */
  readonly auditEntry: AuditEntry;
  /** The host is shutting down: sessions whose agent can reconnect remain in the journal. */
  isStopping: boolean;
  readonly deadlines: Deadlines;
  /** Divides the time for received lines among the sessions. */
  readonly intake: IntakeSchedule;
  readonly authenticate: Authenticate;
  readonly snapshots: SnapshotStore;
  readonly snapshotMode: SnapshotMode;
  readonly snapshotSchedule: SnapshotSchedule;
  /** Persists sessions; undefined if they end with the process. */
  readonly journal: Journal | undefined;
  readonly tools: ToolCatalogue;
  /** The interceptors of the host as one function; undefined if the host has no interceptors. */
  readonly intercept: CallFn | undefined;
  /**
   * Runs `work` in the async context of the host's start, for work that is not done on behalf of the call that runs.
   */
  readonly runApart: <Result>(work: () => Result) => Result;
  readonly registry: TypeRegistry;
  /** The plugins that handle the messages of a capability, in the order in which they are asked. */
  readonly handlersOf: ReadonlyMap<string, readonly LoadedPlugin[]>;
  readonly pluginNames: readonly string[];
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
