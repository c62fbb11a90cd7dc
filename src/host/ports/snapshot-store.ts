// The port of the store for session snapshots.
import type { JsonObject, JsonValue } from "../../protocol/json.ts";

export interface StoredSnapshot {
  /** Assigned by the store; ids of one key sort in the order in which they were saved. */
  readonly snapshot_id: string;
  readonly label: string;
  /** Seconds since 1970. */
  readonly created_at: number;
  readonly bytes: number;
}

/** Stores snapshots by key; a key stands for a session, or for a plugin of a session. Any string is a valid key. */
export interface SnapshotStore {
  /** Resolves when the snapshot would survive a crash of this process. A partly written snapshot is never returned. */
  save(key: string, state: JsonValue, about: { label: string; created_at: number }): Promise<StoredSnapshot>;
  /** The named snapshot, or the newest; undefined if there is none. Rejects with an error that names a damaged snapshot. */
  load(key: string, snapshotId?: string): Promise<{ info: StoredSnapshot; state: JsonValue } | undefined>;
  /** Newest first. */
  list(key: string): Promise<StoredSnapshot[]>;
  /** Deletes one snapshot, or all of the key. */
  delete(key: string, snapshotId?: string): Promise<void>;
  close(): Promise<void>;
}

/** The content of a snapshot: the owner of the session, and the state of each plugin with its `stateVersion`. */
export interface SessionSnapshot extends JsonObject {
  format: number;
  principal_id: string;
  granted: string[];
  plugins: { [name: string]: PluginSnapshot };
  /** If the mode writes a record per plugin: the ids of the records that belong to this snapshot. */
  records?: { [name: string]: string };
}

/** `own` was written by earlier versions for plugins with a `snapshot()` function, and is no longer read. */
export type PluginSnapshot = { version: number; state: { entries: JsonObject; own?: JsonValue } };

/** A snapshot as it was read from the store. */
export interface SavedSession {
  readonly snapshot_id: string;
  readonly state: SessionSnapshot;
}

/**
 * `host` writes one record per session with the states of all plugins. `plugin` writes one record per plugin, so that a
 * damaged record affects one plugin. `hybrid` writes both, and uses the second kind only if the first is damaged.
 */
export type SnapshotMode = "host" | "plugin" | "hybrid";

/** When the host saves sessions by itself. */
export interface SnapshotSchedule {
  /** The longest time between two snapshots of a session in use; 0 turns scheduled snapshots off. */
  everyMs: number;
  /** Whether a host that shuts down with time to drain saves its sessions first. */
  onDrain: boolean;
  /** How many automatic snapshots of a session are kept. Snapshots that an agent took are never deleted. */
  keep: number;
}

export const noSchedule: SnapshotSchedule = { everyMs: 0, onDrain: false, keep: 1 };
