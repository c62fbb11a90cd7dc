// Saving and restoring a session across its plugins.

import type { LoadedPlugin } from "../../host/loaded-plugin.ts";
import type { SnapshotMode, SnapshotStore, StoredSnapshot } from "../../host/ports/snapshot-store.ts";
import type { SavedPart, SessionParts } from "../../host/session/session-parts.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonObject, JsonValue } from "../../protocol/json.ts";

/** Version 2: a plugin's state is what it keeps with the host and what its part holds beside it. */
const formatVersion = 2;

/** What is saved: who the session belongs to, and each plugin's state with the version of its shape. */
export interface SessionState extends JsonObject {
  format: number;
  principal_id: string;
  granted: string[];
  plugins: { [name: string]: PluginState };
  /** Ids of the plugins' own records of this moment, where the mode keeps them. */
  records?: { [name: string]: string };
}

type PluginState = { version: number; state: SavedPart };

/** A snapshot as it came back from the store. */
export interface SavedSession {
  readonly snapshot_id: string;
  readonly state: SessionState;
}

export type Restoration = "restored" | "stateless" | "damaged";

export class SessionSnapshots {
  readonly #store: SnapshotStore;
  readonly #mode: SnapshotMode;

  constructor(store: SnapshotStore, mode: SnapshotMode) {
    this.#store = store;
    this.#mode = mode;
  }

  /** Takes the state of every part and saves it. */
  async save(
    sessionId: string,
    parts: SessionParts,
    about: { principal_id: string; granted: string[]; label: string; created_at: number },
  ): Promise<{ info: StoredSnapshot; capabilities: Record<string, "saved" | "stateless"> }> {
    const { principal_id, granted, label, created_at } = about;
    const capabilities: Record<string, "saved" | "stateless"> = {};
    const plugins: SessionState["plugins"] = {};
    // All at once, so that it is one moment: what a call changes while a plugin takes its time is not in it.
    const saving = Array.from(parts.all.keys(), async (loaded) => ({ loaded, state: await parts.save(loaded) }));
    for (const { loaded, state } of await Promise.all(saving)) {
      const name = loaded.plugin.capability.name;
      if (state === undefined) {
        capabilities[name] ??= "stateless";
        continue;
      }
      plugins[loaded.name] = { version: loaded.plugin.stateVersion ?? 1, state };
      capabilities[name] = "saved";
    }
    const head = { format: formatVersion, principal_id, granted };
    const records: Record<string, string> = {};
    if (this.#mode !== "host") {
      for (const [name, state] of Object.entries(plugins)) {
        const own = { ...head, plugins: { [name]: state } };
        const saved = await this.#store.save(pluginKey(sessionId, name), own, { label, created_at });
        records[name] = saved.snapshot_id;
      }
    }
    const record: SessionState = { ...head, plugins: this.#mode === "plugin" ? {} : plugins, records };
    const info = await this.#store.save(sessionId, record, { label, created_at });
    return { info, capabilities };
  }

  /** Removes the oldest snapshots whose label begins like this, and the plugins' own records of them. */
  async prune(sessionId: string, pluginNames: readonly string[], label: string, keep: number): Promise<void> {
    for (const key of [sessionId, ...pluginNames.map((name) => pluginKey(sessionId, name))]) {
      const automatic = (await this.#store.list(key)).filter((info) => info.label.startsWith(label));
      for (const { snapshot_id } of automatic.slice(keep)) await this.#store.delete(key, snapshot_id);
    }
  }

  list(sessionId: string): Promise<StoredSnapshot[]> {
    return this.#store.list(sessionId);
  }

  /** The saved state. Where its record is damaged and the mode keeps records per plugin, it is put together from those. */
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
    return { snapshot_id: found.info.snapshot_id, state: toState(found.state, found.info.snapshot_id) };
  }

  /** Records of one moment carry the same time; each has the head of the session's own. */
  async #pieceTogether(
    sessionId: string,
    snapshotId: string | undefined,
    pluginNames: readonly string[],
  ): Promise<SavedSession | undefined> {
    const all = await this.#store.list(sessionId);
    const about = snapshotId === undefined ? all[0] : all.find((info) => info.snapshot_id === snapshotId);
    if (about === undefined) return undefined;
    let pieced: SessionState | undefined;
    const records: Record<string, string> = {};
    for (const name of pluginNames) {
      const key = pluginKey(sessionId, name);
      const own = (await this.#store.list(key)).find((info) => info.created_at === about.created_at);
      if (own === undefined) continue;
      records[name] = own.snapshot_id;
      const loaded = await this.#store.load(key, own.snapshot_id).catch(() => undefined);
      if (loaded !== undefined) pieced = { ...toState(loaded.state, own.snapshot_id), plugins: {}, records };
    }
    return pieced === undefined ? undefined : { snapshot_id: about.snapshot_id, state: pieced };
  }

  /**
   * Puts each part back to its saved state. A part that was not saved keeps what it has, and so does one whose own
   * record is damaged. Nothing is restored where a part cannot read what was saved for it.
   */
  async apply(sessionId: string, { state }: SavedSession, parts: SessionParts): Promise<Record<string, Restoration>> {
    const capabilities: Record<string, Restoration> = {};
    const restoring: [LoadedPlugin, SavedPart][] = [];
    for (const loaded of parts.all.keys()) {
      const name = loaded.plugin.capability.name;
      const saved = await this.#find(sessionId, state, loaded);
      if (saved === undefined || saved === "damaged" || !parts.canRestore(loaded, saved.state)) {
        if (saved === "damaged") capabilities[name] = "damaged";
        else capabilities[name] ??= "stateless";
        continue;
      }
      const expected = loaded.plugin.stateVersion ?? 1;
      if (saved.version !== expected) {
        const message = `plugin "${loaded.name}" reads state version ${expected}; the snapshot has ${saved.version}`;
        throw new A2EError("runtime_error", message, { retryable: false });
      }
      restoring.push([loaded, saved.state]);
      if (capabilities[name] !== "damaged") capabilities[name] = "restored";
    }
    await parts.restore(restoring);
    return capabilities;
  }

  async #find(
    sessionId: string,
    state: SessionState,
    loaded: LoadedPlugin,
  ): Promise<PluginState | "damaged" | undefined> {
    const { name, plugin } = loaded;
    const saved = state.plugins[name] ?? (await this.#ownRecord(sessionId, state, name));
    // One that was there and had kept nothing yet goes back to that; one that joined later has no such moment.
    const isEmpty = saved === undefined && state.granted.includes(plugin.capability.name);
    return isEmpty ? { version: plugin.stateVersion ?? 1, state: { entries: {} } } : saved;
  }

  async #ownRecord(sessionId: string, state: SessionState, name: string): Promise<PluginState | "damaged" | undefined> {
    const id = state.records?.[name];
    if (id === undefined) return undefined;
    try {
      const own = await this.#store.load(pluginKey(sessionId, name), id);
      return own === undefined ? "damaged" : (toState(own.state, id).plugins[name] ?? "damaged");
    } catch {
      return "damaged";
    }
  }
}

function toState(value: JsonValue, snapshotId: string): SessionState {
  const state = value as Partial<SessionState> | null;
  if (state?.format === formatVersion) return state as SessionState;
  const message = `snapshot ${snapshotId} has format ${state?.format}; this host reads ${formatVersion}`;
  throw new A2EError("runtime_error", message, { retryable: false });
}

function pluginKey(sessionId: string, pluginName: string): string {
  return JSON.stringify([sessionId, pluginName]);
}
