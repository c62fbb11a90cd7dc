// Writes snapshots of a session to the snapshot store, and restores a session from them.

import type {
  PluginSnapshot,
  SavedSession,
  SessionSnapshot,
  SnapshotMode,
  SnapshotStore,
  StoredSnapshot,
} from "../../host/ports/snapshot-store.ts";
import type { SessionParts } from "../../host/session/session-parts.ts";
import type { LoadedPlugin } from "../../plugin/plugin.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonObject, JsonValue } from "../../protocol/json.ts";

/** Version 2: the state of a plugin is an object with `entries`. */
const formatVersion = 2;

type Restoration = "restored" | "stateless" | "damaged";

export class SessionSnapshots {
  readonly #store: SnapshotStore;
  readonly #mode: SnapshotMode;

  constructor(store: SnapshotStore, mode: SnapshotMode) {
    this.#store = store;
    this.#mode = mode;
  }

  /** Saves the states of all plugins of a session, as they are at the moment of the call. */
  async save(
    sessionId: string,
    parts: SessionParts,
    about: { principal_id: string; granted: string[]; label: string; created_at: number },
  ): Promise<{ info: StoredSnapshot; capabilities: Record<string, "saved" | "stateless"> }> {
    const { principal_id, granted, label, created_at } = about;
    const capabilities: Record<string, "saved" | "stateless"> = {};
    const plugins: SessionSnapshot["plugins"] = {};
    for (const { name, plugin } of parts.all.keys()) {
      const entries = parts.states.save(name);
      if (entries === undefined) {
        capabilities[plugin.capability.name] ??= "stateless";
        continue;
      }
      plugins[name] = { version: versionOf(plugin), state: { entries } };
      capabilities[plugin.capability.name] = "saved";
    }
    const head = { format: formatVersion, principal_id, granted };
    const records: Record<string, string> = {};
    if (this.#mode !== "host") {
      for (const [name, state] of Object.entries(plugins)) {
        const record = { ...head, plugins: { [name]: state } };
        const saved = await this.#store.save(pluginKey(sessionId, name), record, { label, created_at });
        records[name] = saved.snapshot_id;
      }
    }
    const record: SessionSnapshot = { ...head, plugins: this.#mode === "plugin" ? {} : plugins, records };
    const info = await this.#store.save(sessionId, record, { label, created_at });
    return { info, capabilities };
  }

  /** Deletes the snapshots whose label begins with `label`, with their records per plugin, except for the newest `keep`. */
  async prune(sessionId: string, pluginNames: readonly string[], label: string, keep: number): Promise<void> {
    for (const key of [sessionId, ...pluginNames.map((name) => pluginKey(sessionId, name))]) {
      const labelled = (await this.#store.list(key)).filter((info) => info.label.startsWith(label));
      for (const { snapshot_id } of labelled.slice(keep)) await this.#store.delete(key, snapshot_id);
    }
  }

  list(sessionId: string): Promise<StoredSnapshot[]> {
    return this.#store.list(sessionId);
  }

  /**
   * Reads a snapshot; the newest for the id "". If its record is damaged and the mode writes a record per plugin, the
   * snapshot is assembled from those.
   */
  async load(sessionId: string, snapshotId: string, pluginNames: readonly string[]): Promise<SavedSession | undefined> {
    const wanted = snapshotId === "" ? undefined : snapshotId;
    let found: Awaited<ReturnType<SnapshotStore["load"]>>;
    try {
      found = await this.#store.load(sessionId, wanted);
    } catch (damage) {
      const pieced = this.#mode === "host" ? undefined : await this.#pieceTogether(sessionId, wanted, pluginNames);
      if (pieced === undefined) throw damage;
      return pieced;
    }
    if (found === undefined) return undefined;
    return { snapshot_id: found.info.snapshot_id, state: toSnapshot(found.state, found.info.snapshot_id) };
  }

  /** Records of one snapshot have the same `created_at`, and each of them has the head of the session's record. */
  async #pieceTogether(
    sessionId: string,
    snapshotId: string | undefined,
    pluginNames: readonly string[],
  ): Promise<SavedSession | undefined> {
    const all = await this.#store.list(sessionId);
    const about = snapshotId === undefined ? all[0] : all.find((info) => info.snapshot_id === snapshotId);
    if (about === undefined) return undefined;
    let pieced: SessionSnapshot | undefined;
    const records: Record<string, string> = {};
    for (const name of pluginNames) {
      const key = pluginKey(sessionId, name);
      const record = (await this.#store.list(key)).find((info) => info.created_at === about.created_at);
      if (record === undefined) continue;
      records[name] = record.snapshot_id;
      const loaded = await this.#store.load(key, record.snapshot_id).catch(() => undefined);
      if (loaded !== undefined) pieced = { ...toSnapshot(loaded.state, record.snapshot_id), plugins: {}, records };
    }
    return pieced === undefined ? undefined : { snapshot_id: about.snapshot_id, state: pieced };
  }

  /**
   * Restores the state of each plugin and reopens its part. A plugin that is not in the snapshot, or whose record is damaged,
   * keeps its state. If one plugin cannot read its saved state, no plugin is restored.
   */
  async apply(sessionId: string, { state }: SavedSession, parts: SessionParts): Promise<Record<string, Restoration>> {
    const capabilities: Record<string, Restoration> = {};
    const restoring: [LoadedPlugin, JsonObject][] = [];
    for (const loaded of parts.all.keys()) {
      const capability = loaded.plugin.capability.name;
      const saved = await this.#find(sessionId, state, loaded);
      if (saved === "damaged") {
        capabilities[capability] = "damaged";
        continue;
      }
      if (saved === undefined || (isEmpty(saved) && parts.states.get(loaded.name) === undefined)) {
        capabilities[capability] ??= "stateless";
        continue;
      }
      checkReadable(loaded, saved);
      restoring.push([loaded, saved.state.entries]);
      if (capabilities[capability] !== "damaged") capabilities[capability] = "restored";
    }
    await parts.reopenAfter(() =>
      restoring.map(([plugin, entries]) => ({ plugin, undo: parts.states.restore(plugin.name, entries) })),
    );
    return capabilities;
  }

  async #find(
    sessionId: string,
    snapshot: SessionSnapshot,
    { name, plugin }: LoadedPlugin,
  ): Promise<PluginSnapshot | "damaged" | undefined> {
    const saved = snapshot.plugins[name] ?? (await this.#ownRecord(sessionId, snapshot, name));
    // A plugin that had no state when the snapshot was taken gets an empty state. A plugin that was added later keeps its
    // state.
    const wasEmpty = saved === undefined && snapshot.granted.includes(plugin.capability.name);
    return wasEmpty ? { version: versionOf(plugin), state: { entries: {} } } : saved;
  }

  async #ownRecord(
    sessionId: string,
    snapshot: SessionSnapshot,
    name: string,
  ): Promise<PluginSnapshot | "damaged" | undefined> {
    const id = snapshot.records?.[name];
    if (id === undefined) return undefined;
    try {
      const record = await this.#store.load(pluginKey(sessionId, name), id);
      return record === undefined ? "damaged" : (toSnapshot(record.state, id).plugins[name] ?? "damaged");
    } catch {
      return "damaged";
    }
  }
}

function versionOf({ stateVersion = 1 }: LoadedPlugin["plugin"]): number {
  return stateVersion;
}

function isEmpty({ state: { entries, own } }: PluginSnapshot): boolean {
  return Object.keys(entries).length === 0 && own === undefined;
}

function checkReadable({ name, plugin }: LoadedPlugin, { version, state }: PluginSnapshot): void {
  const expected = versionOf(plugin);
  if (version !== expected)
    throw unreadable(`plugin "${name}" reads state version ${expected}; the snapshot has ${version}`);
  if (state.own !== undefined)
    throw unreadable(
      `the snapshot has a state of plugin "${name}" that its snapshot() returned in an earlier version of a2e; ` +
        "this version restores only what plugins keep in context.state",
    );
}

function toSnapshot(value: JsonValue, snapshotId: string): SessionSnapshot {
  const snapshot = value as Partial<SessionSnapshot> | null;
  if (snapshot?.format === formatVersion) return snapshot as SessionSnapshot;
  throw unreadable(`snapshot ${snapshotId} has format ${snapshot?.format}; this host reads ${formatVersion}`);
}

function unreadable(message: string): A2EError {
  return new A2EError("runtime_error", message, { retryable: false });
}

function pluginKey(sessionId: string, pluginName: string): string {
  return JSON.stringify([sessionId, pluginName]);
}
