// Where the use of budgets is stored, so that it survives a restart.
import type { Database } from "../plugin/ports/database.ts";

export interface StoredUse {
  readonly used: number;
  /** The number of the day since 1970 that it was counted on; 0 for budgets that do not reset. */
  readonly day: number;
}

/** Writes are part of the turn in which they are made, like the lines of sessions in the journal. */
export interface UsageStore {
  read(key: string): StoredUse | undefined;
  /** Calls back once before this turn is committed; with an error if the turn is lost: then nothing may be written. */
  beforeCommit(callback: (error?: Error) => void): void;
  /** Throws if it fails: the turn is lost then. `settled` is called when the turn is durable, or lost. */
  write(uses: Iterable<StoredUse & { readonly key: string }>, settled: (error?: Error) => void): void;
}

const migrations = [
  "CREATE TABLE quota_use (key TEXT PRIMARY KEY, used REAL NOT NULL, day INTEGER NOT NULL) STRICT, WITHOUT ROWID",
];

export function createUsageStore(database: Database): UsageStore {
  database.migrate("quotas", migrations);
  const select = database.prepare("SELECT used, day FROM quota_use WHERE key = ?");
  const upsert = database.prepare(
    "INSERT INTO quota_use (key, used, day) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET used = excluded.used, day = excluded.day",
  );
  return {
    read(key) {
      const row = select.get(key);
      return row && { used: Number(row.used), day: Number(row.day) };
    },
    beforeCommit: (callback) => database.beforeCommit(callback),
    write(uses, settled) {
      database.write(() => {
        for (const { key, used, day } of uses) upsert.run(key, used, day);
      });
      database.afterCommit(settled);
    },
  };
}
