// The tables of the persistent tiers. Strings from agents are stored as JSON (see key.ts), so that the database never
// changes them. The identity of a space has several columns, so that no separator can be forged.
import type { Database, SqlRow } from "../../../plugin/ports/database.ts";
import type { JsonValue } from "../../../protocol/json.ts";
import type { Draft, Entry } from "../entry.ts";

const migrations = [
  `CREATE TABLE memory_space (
     id INTEGER PRIMARY KEY, tier TEXT NOT NULL, owner TEXT NOT NULL, namespace TEXT NOT NULL, scope TEXT NOT NULL,
     -- Empty for what is there for all; otherwise the overlay in which a fork keeps its changes.
     overlay TEXT NOT NULL, agent TEXT NOT NULL,
     entries INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
     -- The last version given; it never goes back, so that an entry that was deleted and written again is not taken for the old one.
     version INTEGER NOT NULL DEFAULT 0,
     UNIQUE (tier, owner, namespace, scope, overlay)
   ) STRICT;
   CREATE INDEX memory_space_overlay ON memory_space (overlay) WHERE overlay <> '';
   CREATE INDEX memory_space_agent ON memory_space (agent);
   CREATE TABLE memory_entry (
     id INTEGER PRIMARY KEY, space INTEGER NOT NULL, key TEXT NOT NULL, content TEXT NOT NULL, tags TEXT NOT NULL, source TEXT NOT NULL,
     score REAL NOT NULL, ttl INTEGER NOT NULL, created_at REAL NOT NULL, updated_at REAL NOT NULL, event_at REAL NOT NULL,
     expires_at REAL, version INTEGER NOT NULL, size INTEGER NOT NULL,
     -- In overlays: the version below that this one stands for, and whether it stands for a deletion.
     base_version INTEGER NOT NULL DEFAULT 0, is_deleted INTEGER NOT NULL DEFAULT 0,
     UNIQUE (space, key)
   ) STRICT;
   CREATE INDEX memory_entry_time ON memory_entry (space, event_at);
   CREATE INDEX memory_entry_expiry ON memory_entry (expires_at) WHERE expires_at IS NOT NULL;
   CREATE TABLE memory_tag (space INTEGER NOT NULL, tag TEXT NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (space, tag, entry)) STRICT, WITHOUT ROWID;
   CREATE TABLE memory_vector (entry INTEGER PRIMARY KEY, model TEXT NOT NULL, vector BLOB NOT NULL) STRICT;
   CREATE TABLE memory_overlay (id TEXT PRIMARY KEY, parent TEXT NOT NULL, used_at REAL NOT NULL) STRICT, WITHOUT ROWID;`,
  // Finds the expired entries of one space without reading those of others.
  "CREATE INDEX memory_entry_space_expiry ON memory_entry (space, expires_at) WHERE expires_at IS NOT NULL",
  // Orders entries with the same event_at by version, newest last.
  `DROP INDEX memory_entry_time;
   CREATE INDEX memory_entry_time ON memory_entry (space, event_at, version);`,
];

export function migrateMemory(database: Database): void {
  database.migrate("memory", migrations);
}

/** A row of `memory_entry`. */
export interface EntryRow {
  readonly key: string;
  readonly content: string;
  readonly tags: string;
  readonly source: string;
  readonly score: number;
  readonly ttl: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly event_at: number;
  readonly expires_at: number | null;
  readonly version: number;
  readonly size: number;
  readonly base_version: number;
  readonly is_deleted: number;
}

export type StoredRow = EntryRow & { readonly id: number };

const columns = [
  "key",
  "content",
  "tags",
  "source",
  "score",
  "ttl",
  "created_at",
  "updated_at",
  "event_at",
  "expires_at",
  "version",
  "size",
  "base_version",
  "is_deleted",
] as const satisfies (keyof EntryRow)[];

export const entryColumns = ["id", ...columns].map((column) => `e.${column}`).join(", ");
/** Without the content, for rows that are only counted or deleted: there may be many. */
export const rowColumns = entryColumns.replace("e.content", "'' AS content");
/** The columns that `toEntry` needs: every further column of every row costs time. */
export const readColumns =
  "e.key, e.content, e.tags, e.source, e.score, e.ttl, e.created_at, e.updated_at, e.event_at, e.version";
export const insertEntry = `INSERT INTO memory_entry (space, ${columns.join(", ")}) VALUES (?${", ?".repeat(columns.length)}) ON CONFLICT (space, key) DO NOTHING`;
export const updateEntry = `UPDATE memory_entry SET ${columns.map((column) => `${column} = ?`).join(", ")} WHERE id = ?`;

/** In the order of the columns. Written out, since it is called for every entry that is stored. */
export function valuesOf(row: EntryRow): (string | number | null)[] {
  return [
    row.key,
    row.content,
    row.tags,
    row.source,
    row.score,
    row.ttl,
    row.created_at,
    row.updated_at,
    row.event_at,
    row.expires_at,
    row.version,
    row.size,
    row.base_version,
    row.is_deleted,
  ];
}

export function toEntry(row: SqlRow): Entry {
  const stored = row as unknown as EntryRow;
  return {
    key: stored.key,
    content: JSON.parse(stored.content) as JsonValue,
    tags: stored.tags === "[]" ? [] : (JSON.parse(stored.tags) as string[]),
    source: stored.source === '""' ? "" : (JSON.parse(stored.source) as string),
    score: stored.score,
    ttl: stored.ttl,
    createdAt: stored.created_at,
    updatedAt: stored.updated_at,
    eventAt: stored.event_at,
    version: stored.version,
  };
}

/** A draft as a row that is written now. */
export function toRow(draft: Draft, version: number, createdAt: number, baseVersion: number, now: number): EntryRow {
  return {
    key: draft.key,
    content: draft.json,
    tags: draft.tags.length === 0 ? "[]" : JSON.stringify(draft.tags),
    source: draft.source === "" ? '""' : JSON.stringify(draft.source),
    score: draft.score,
    ttl: draft.ttl,
    created_at: createdAt,
    updated_at: now,
    event_at: draft.eventAt,
    expires_at: draft.ttl === 0 ? null : now + draft.ttl,
    version,
    size: draft.size,
    base_version: baseVersion,
    is_deleted: 0,
  };
}

/** A row of an overlay that hides an entry below, which the fork has deleted. */
export function toTombstone(
  row: Pick<EntryRow, "key" | "event_at">,
  version: number,
  baseVersion: number,
  now: number,
): EntryRow {
  return {
    key: row.key,
    content: "null",
    tags: "[]",
    source: '""',
    score: 0,
    ttl: 0,
    created_at: now,
    updated_at: now,
    event_at: row.event_at,
    expires_at: null,
    version,
    size: 0,
    base_version: baseVersion,
    is_deleted: 1,
  };
}

/** Whether the row is an entry that is neither deleted nor expired. */
export function isVisible(row: StoredRow | undefined, now: number): row is StoredRow {
  return row !== undefined && row.is_deleted === 0 && (row.expires_at === null || row.expires_at > now);
}
