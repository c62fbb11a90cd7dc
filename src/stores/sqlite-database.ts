// The host's database on SQLite. Writes of one turn share a transaction; its commit is synced by the thread pool while
// the host goes on with the next turn, so that durability costs latency and hardly any throughput.
import { closeSync, fdatasync, openSync } from "node:fs";
import type { Database, SqlRow, SqlStatement, SqlValue } from "../host/database.ts";
import { explainSqliteError, openSqlite, type SqliteDatabase } from "./sqlite.ts";

export interface SqliteDatabaseOptions {
  /** `:memory:` keeps nothing. */
  path: string;
  /** `power` survives a power cut; `process` a killed process, which is what most tests and many agents need. */
  durability?: "power" | "process";
  /** Puts what was written to a file on the disk. */
  syncFile?: SyncFile;
}

/** As `fdatasync` does: calls back later, and once. */
type SyncFile = (file: number, callback: (error: Error | null) => void) => void;

type Callback = (error?: Error) => void;

/**
 * A second sync may start while the first is under way: what was committed meanwhile need not wait for two. Each has a
 * descriptor of its own, since the kernel tells of a failed write once per descriptor.
 */
const maxSyncs = 2;

export async function createSqliteDatabase({
  path,
  durability = "power",
  syncFile = fdatasync,
}: SqliteDatabaseOptions): Promise<Database> {
  const isPersistent = path !== ":memory:";
  const sqlite = await openSqlite({
    path,
    migrations: ["CREATE TABLE component (name TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT"],
  });
  // Commits do not sync by themselves: that would block the host's only thread. `sync` below does it instead.
  sqlite.exec("PRAGMA synchronous = NORMAL");
  // In KiB. The 2 MiB of SQLite spill in the middle of a large request, and full-text queries read them over and over.
  sqlite.exec("PRAGMA cache_size = -16384");
  // In pages, 16 MiB. What is written and soon deleted again, as the lines of sessions are, is then mostly never copied
  // from the log into the database: that happens on the host's only thread.
  sqlite.exec("PRAGMA wal_autocheckpoint = 4096");
  const syncs = isPersistent && durability === "power" ? maxSyncs : 0;
  const files = Array.from({ length: syncs }, () => openSync(`${path}-wal`, "a"));
  return new SqliteHostDatabase(sqlite, path, isPersistent, files, syncFile);
}

class SqliteHostDatabase implements Database {
  readonly isPersistent: boolean;
  readonly #sqlite: SqliteDatabase;
  readonly #path: string;
  readonly #mustSync: boolean;
  readonly #syncFile: SyncFile;
  /** Descriptors of the log that no sync uses now. */
  readonly #files: number[];
  #isOpen = false;
  #depth = 0;
  /** Waiting for the commit of this turn. */
  #committing: Callback[] = [];
  /** Waiting for a sync, by commit, oldest first. The oldest has number `#firstUnsynced`. */
  #unsynced: Callback[][] = [];
  #firstUnsynced = 1;
  /** The last commit that a sync was started for. */
  #syncStarted = 0;
  #syncs = 0;
  #preparing: Callback[] = [];
  #idle: (() => void)[] = [];
  /** Why nothing is durable any more: what a failed sync has lost leaves a gap in the log, and what follows it is not read after a crash. */
  #syncError: Error | undefined;
  #isClosed = false;

  constructor(sqlite: SqliteDatabase, path: string, isPersistent: boolean, files: number[], syncFile: SyncFile) {
    this.#sqlite = sqlite;
    this.#path = path;
    this.isPersistent = isPersistent;
    this.#mustSync = files.length > 0;
    this.#files = files;
    this.#syncFile = syncFile;
  }

  migrate(component: string, migrations: readonly string[]): void {
    this.write(() => {
      const known = this.#sqlite.prepare("SELECT version FROM component WHERE name = ?").get(component);
      const version = Number(known?.version ?? 0);
      if (version > migrations.length) {
        throw new Error(
          `database ${this.#path}: the tables of "${component}" have version ${version}, written by a newer release; this one knows up to ${migrations.length}`,
        );
      }
      for (const sql of migrations.slice(version)) this.#sqlite.exec(sql);
      this.#sqlite
        .prepare(
          "INSERT INTO component (name, version) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET version = excluded.version",
        )
        .run(component, migrations.length);
    });
  }

  prepare(sql: string): SqlStatement {
    return new ExplainedStatement(this.#sqlite.prepare(sql), this.#path);
  }

  write<Result>(work: () => Result): Result {
    if (this.#isClosed) throw new Error("the database is closed");
    this.#begin();
    const savepoint = `write_${this.#depth}`;
    this.#sqlite.exec(`SAVEPOINT ${savepoint}`);
    this.#depth += 1;
    try {
      const result = work();
      this.#sqlite.exec(`RELEASE ${savepoint}`);
      return result;
    } catch (error) {
      this.#sqlite.exec(`ROLLBACK TO ${savepoint}`);
      this.#sqlite.exec(`RELEASE ${savepoint}`);
      throw explainSqliteError(error, this.#path);
    } finally {
      this.#depth -= 1;
    }
  }

  beforeCommit(callback: Callback): void {
    this.#begin();
    this.#preparing.push(callback);
  }

  afterCommit(callback: Callback): void {
    const waiting = this.#isOpen ? this.#committing : this.#unsynced.at(-1);
    if (waiting === undefined) callback(this.#syncError);
    else waiting.push(callback);
  }

  #begin(): void {
    if (this.#isOpen) return;
    this.#sqlite.exec("BEGIN IMMEDIATE");
    this.#isOpen = true;
    setImmediate(() => this.#commit());
  }

  #commit(): void {
    if (!this.#isOpen) return;
    let waiting: Callback[] = [];
    try {
      for (let prepare = this.#preparing.shift(); prepare !== undefined; prepare = this.#preparing.shift()) prepare();
      waiting = this.#committing;
      this.#committing = [];
      this.#isOpen = false;
      this.#sqlite.exec("COMMIT");
    } catch (cause) {
      waiting.push(...this.#committing.splice(0));
      this.#isOpen = false;
      const unprepared = this.#preparing.splice(0);
      try {
        this.#sqlite.exec("ROLLBACK");
      } catch {
        // SQLite has rolled back by itself.
      }
      const error = explainSqliteError(cause, this.#path) as Error;
      for (const callback of [...waiting, ...unprepared]) tell(callback, error);
      return this.#settleIdle();
    }
    this.#unsynced.push(waiting);
    this.#sync();
  }

  #sync(): void {
    const last = this.#firstUnsynced + this.#unsynced.length - 1;
    if (!this.#mustSync) return this.#release(last);
    const file = this.#syncStarted < last ? this.#files.pop() : undefined;
    if (file === undefined) return;
    this.#syncStarted = last;
    this.#syncs += 1;
    this.#syncFile(file, (error) => {
      this.#files.push(file);
      this.#syncs -= 1;
      this.#syncError ??= error ?? undefined;
      this.#release(last, this.#syncError);
      this.#sync();
      this.#settleIdle();
    });
  }

  /** A sync covers every commit before its start, whichever of two ends first. */
  #release(last: number, error?: Error): void {
    while (this.#firstUnsynced <= last) {
      const waiting = this.#unsynced.shift() ?? [];
      this.#firstUnsynced += 1;
      for (const callback of waiting) tell(callback, error);
    }
  }

  #settleIdle(): void {
    if (this.#isOpen || this.#syncs > 0) return;
    for (const resume of this.#idle.splice(0)) resume();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#commit();
    if (this.#syncs > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
    for (const file of this.#files) closeSync(file);
    try {
      this.#sqlite.close();
    } catch (error) {
      throw explainSqliteError(error, this.#path);
    }
  }
}

/** A statement whose errors say which file failed and what to do: damage shows where it is read. */
class ExplainedStatement implements SqlStatement {
  readonly #statement: SqlStatement;
  readonly #path: string;

  constructor(statement: SqlStatement, path: string) {
    this.#statement = statement;
    this.#path = path;
  }

  run(...values: SqlValue[]): ReturnType<SqlStatement["run"]> {
    try {
      return this.#statement.run(...values);
    } catch (error) {
      throw explainSqliteError(error, this.#path);
    }
  }

  get(...values: SqlValue[]): SqlRow | undefined {
    try {
      return this.#statement.get(...values);
    } catch (error) {
      throw explainSqliteError(error, this.#path);
    }
  }

  all(...values: SqlValue[]): SqlRow[] {
    try {
      return this.#statement.all(...values);
    } catch (error) {
      throw explainSqliteError(error, this.#path);
    }
  }
}

/** What one of those who wait throws must not keep the others waiting; it surfaces on its own. */
function tell(callback: Callback, error: Error | undefined): void {
  try {
    callback(error);
  } catch (thrown) {
    queueMicrotask(() => {
      throw thrown;
    });
  }
}
