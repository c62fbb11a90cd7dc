// The port behind which session snapshots are kept.
import type { JsonValue } from "../../protocol/json.ts";

export interface StoredSnapshot {
  /** Assigned by the store; ids of one key sort in the order in which they were saved. */
  readonly snapshot_id: string;
  readonly label: string;
  /** Seconds since 1970. */
  readonly created_at: number;
  readonly bytes: number;
}

/** Keeps snapshots by key (a session). Any string is a key; none of them reaches outside the store. */
export interface SnapshotStore {
  /** Resolves once the snapshot would survive a crash of this process; a half-written one is never seen. */
  save(key: string, state: JsonValue, about: { label: string; created_at: number }): Promise<StoredSnapshot>;
  /** The named snapshot, the newest where none is named, or undefined. Rejects on a damaged one, and says which. */
  load(key: string, snapshotId?: string): Promise<{ info: StoredSnapshot; state: JsonValue } | undefined>;
  /** Newest first. */
  list(key: string): Promise<StoredSnapshot[]>;
  /** Forgets one snapshot, or all of the key. */
  delete(key: string, snapshotId?: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * `host` writes one record per session, all plugins in it. `plugin` writes one record per plugin, so that one damaged
 * record costs one plugin. `hybrid` writes both and restores from the first, falling back to the second plugin by plugin.
 */
export type SnapshotMode = "host" | "plugin" | "hybrid";

/** When sessions are saved without anybody asking. */
export interface SnapshotSchedule {
  /** How long a session that is used may go without a snapshot; 0 takes none. */
  everyMs: number;
  /** Whether a host that shuts down in peace saves its sessions first. */
  onDrain: boolean;
  /** How many of these are kept of a session; older ones go. Those that an agent took stay. */
  keep: number;
}

export const noSchedule: SnapshotSchedule = { everyMs: 0, onDrain: false, keep: 1 };
