// Snapshots in one SQLite file. The calls are synchronous: a save blocks this thread for a synced commit.
import type { SnapshotStore, StoredSnapshot } from "../../host/ports/snapshot-store.ts";
import { parseJson, writeJson } from "../../protocol/json.ts";
import { digestOfKey, digestOfText } from "../files/digest.ts";
import { explainSqliteError, openSqlite, type SqliteRow } from "../sqlite/sqlite.ts";
import { parseSnapshotId, toSnapshotId } from "./snapshot-id.ts";

export interface SqliteSnapshotStoreOptions {
  path: string;
}

// AUTOINCREMENT counts over all keys and never reuses a number, not even that of a deleted newest row. The key is
// stored as its digest and the label as JSON, because SQLite ends a bound text at NUL. The state is the last column, so
// that a list reads none of its pages.
const migrations = [
  `CREATE TABLE snapshots (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key_sha256 TEXT NOT NULL,
    label_json TEXT NOT NULL,
    created_at REAL NOT NULL,
    bytes INTEGER NOT NULL,
    state_sha256 TEXT NOT NULL,
    state_json TEXT NOT NULL
  ) STRICT;
  CREATE INDEX snapshots_by_key ON snapshots (key_sha256, number);`,
];

/** Rejects if the file is damaged, was written by a newer release, or cannot be opened. */
export async function createSqliteSnapshotStore({ path }: SqliteSnapshotStoreOptions): Promise<SnapshotStore> {
  const database = await openSqlite({ path, migrations });
  let isClosed = false;

  const insert = database.prepare(
    "INSERT INTO snapshots (key_sha256, label_json, created_at, bytes, state_sha256, state_json) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const selectNewest = database.prepare("SELECT * FROM snapshots WHERE key_sha256 = ? ORDER BY number DESC LIMIT 1");
  const selectOne = database.prepare("SELECT * FROM snapshots WHERE key_sha256 = ? AND number = ?");
  const selectAll = database.prepare(
    "SELECT number, label_json, created_at, bytes FROM snapshots WHERE key_sha256 = ? ORDER BY number DESC",
  );
  const deleteOne = database.prepare("DELETE FROM snapshots WHERE key_sha256 = ? AND number = ?");
  const deleteAll = database.prepare("DELETE FROM snapshots WHERE key_sha256 = ?");

  async function whileOpen<Result>(work: () => Result): Promise<Result> {
    if (isClosed) throw new Error("the snapshot store is closed");
    try {
      return work();
    } catch (error) {
      throw explainSqliteError(error, path);
    }
  }

  return {
    save(key, state, { label, created_at }) {
      return whileOpen(() => {
        const text = writeJson(state);
        const bytes = Buffer.byteLength(text);
        const { lastInsertRowid } = insert.run(
          digestOfKey(key),
          writeJson(label),
          created_at,
          bytes,
          digestOfText(text),
          text,
        );
        return { snapshot_id: toSnapshotId(Number(lastInsertRowid)), label, created_at, bytes };
      });
    },

    load(key, snapshotId) {
      return whileOpen(() => {
        const digest = digestOfKey(key);
        const number = snapshotId === undefined ? undefined : parseSnapshotId(snapshotId);
        if (snapshotId !== undefined && number === undefined) return undefined;
        const row = number === undefined ? selectNewest.get(digest) : selectOne.get(digest, number);
        if (row === undefined) return undefined;
        const info = toInfo(row);
        const text = String(row.state_json);
        if (digestOfText(text) !== row.state_sha256) {
          throw new Error(`snapshot ${info.snapshot_id} in ${path} is damaged: its state differs from the saved state`);
        }
        return { info, state: parseJson(text) };
      });
    },

    list(key) {
      return whileOpen(() => selectAll.all(digestOfKey(key)).map(toInfo));
    },

    delete(key, snapshotId) {
      return whileOpen(() => {
        if (snapshotId === undefined) deleteAll.run(digestOfKey(key));
        else deleteOne.run(digestOfKey(key), parseSnapshotId(snapshotId) ?? null);
      });
    },

    async close() {
      if (isClosed) return;
      isClosed = true;
      database.close();
    },
  };
}

function toInfo(row: SqliteRow): StoredSnapshot {
  return {
    snapshot_id: toSnapshotId(Number(row.number)),
    label: JSON.parse(String(row.label_json)) as string,
    created_at: Number(row.created_at),
    bytes: Number(row.bytes),
  };
}
