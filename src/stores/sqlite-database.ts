// The host's database on SQLite. What one turn writes is kept together: in the log of turns where that is all, else in
// one transaction. Its end is synced before anybody is told of it.
import type { Database, SqlStatement, TurnLog, TurnLogOwner } from "../host/database.ts";
import { ExplainedStatement } from "./explained-statement.ts";
import { createPacedSync, FileSyncs, type SyncFile } from "./file-syncs.ts";
import { explainSqliteError, openSqlite, type SqliteDatabase } from "./sqlite.ts";
import { SqliteTurnLog, turnLogMigrations } from "./sqlite-turn-log.ts";

export interface SqliteDatabaseOptions {
  /** `:memory:` keeps nothing. */
  path: string;
  /** `power` survives a power cut; `process` a killed process, which is what most tests and many agents need. */
  durability?: "power" | "process";
  /** Puts what was written to a file on the disk. */
  syncFile?: SyncFile;
}

type Callback = (error?: Error) => void;

/** Where a turn has gone to. */
type TurnEnd = "logged" | "folded" | "empty";

export async function createSqliteDatabase({
  path,
  durability = "power",
  syncFile = createPacedSync(),
}: SqliteDatabaseOptions): Promise<Database> {
  const sqlite = await openSqlite({
    path,
    migrations: ["CREATE TABLE component (name TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT"],
  });
  // Commits do not sync by themselves: a slow disk would block the host's only thread. `FileSyncs` does it instead.
  sqlite.exec("PRAGMA synchronous = NORMAL");
  // In KiB. The 2 MiB of SQLite spill in the middle of a large request, and full-text queries read them over and over.
  sqlite.exec("PRAGMA cache_size = -16384");
  // In pages, 16 MiB: copying from the write-ahead log into the database happens on the host's only thread.
  sqlite.exec("PRAGMA wal_autocheckpoint = 4096");
  const isPersistent = path !== ":memory:";
  const isSynced = isPersistent && durability === "power";
  return new SqliteHostDatabase(sqlite, path, isPersistent, isSynced ? syncFile : undefined);
}

class SqliteHostDatabase implements Database {
  readonly isPersistent: boolean;
  readonly openLog?: (owner: TurnLogOwner) => TurnLog;
  readonly #sqlite: SqliteDatabase;
  readonly #path: string;
  /** Of SQLite's write-ahead log, and of the log of turns; absent where nothing is synced. */
  readonly #tableSyncs: FileSyncs | undefined;
  #logSyncs: FileSyncs | undefined;
  readonly #syncFile: SyncFile | undefined;
  #log: SqliteTurnLog | undefined;
  /** Whether this turn has something to end with. */
  #isTurn = false;
  /** Whether it has a transaction. */
  #isOpen = false;
  #depth = 0;
  /** Why this turn is lost already. */
  #turnError: Error | undefined;
  #preparing: Callback[] = [];
  /** Waiting for the end of this turn. */
  #committing: Callback[] = [];
  /** Waiting for a sync, by turn, oldest first. The oldest has number `#firstUnsynced`. */
  #unsynced: Callback[][] = [];
  #firstUnsynced = 1;
  /** The last turn that is in tables. */
  #lastInTables = 0;
  #idle: (() => void)[] = [];
  /** Why nothing is durable any more: what a failed sync has lost leaves a gap, and what follows it is not read after a crash. */
  #syncError: Error | undefined;
  #isClosed = false;

  constructor(sqlite: SqliteDatabase, path: string, isPersistent: boolean, syncFile: SyncFile | undefined) {
    this.#sqlite = sqlite;
    this.#path = path;
    this.isPersistent = isPersistent;
    this.#syncFile = syncFile;
    if (isPersistent) this.openLog = (owner) => this.#openLog(owner);
    this.#tableSyncs = this.#createSyncs(`${path}-wal`);
  }

  #createSyncs(path: string): FileSyncs | undefined {
    if (this.#syncFile === undefined) return undefined;
    return new FileSyncs(path, this.#syncFile, (last, error) => this.#synced(last, error));
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
    this.#openTurn();
    if (this.#turnError !== undefined) throw this.#turnError;
    this.#begin();
    const savepoint = `write_${this.#depth}`;
    this.#sqlite.exec(`SAVEPOINT ${savepoint}`);
    this.#depth += 1;
    try {
      const result = work();
      this.#sqlite.exec(`RELEASE ${savepoint}`);
      return result;
    } catch (error) {
      const explained = explainSqliteError(error, this.#path);
      this.#rollBackTo(savepoint, explained);
      throw explained;
    } finally {
      this.#depth -= 1;
    }
  }

  #rollBackTo(savepoint: string, cause: unknown): void {
    try {
      this.#sqlite.exec(`ROLLBACK TO ${savepoint}`);
      this.#sqlite.exec(`RELEASE ${savepoint}`);
    } catch {
      // A full disk, among others, makes SQLite roll back everything by itself: what follows would be in no transaction.
      this.#turnError = cause as Error;
    }
  }

  beforeCommit(callback: Callback): void {
    this.#openTurn();
    this.#preparing.push(callback);
  }

  get failure(): Error | undefined {
    return this.#syncError;
  }

  afterCommit(callback: Callback): void {
    const waiting = this.#isTurn ? this.#committing : this.#unsynced.at(-1);
    if (waiting === undefined) callback(this.#syncError);
    else waiting.push(callback);
  }

  #openLog(owner: TurnLogOwner): TurnLog {
    if (this.#log !== undefined) throw new Error("the log of turns has an owner");
    this.migrate("turn_log", turnLogMigrations);
    const path = `${this.#path}-turns`;
    const isSynced = this.#syncFile !== undefined;
    const log = new SqliteTurnLog(this.#sqlite, { path, isSynced, owner, onAppend: () => this.#openTurn() });
    try {
      this.#logSyncs = this.#createSyncs(path);
    } catch (error) {
      log.abandon();
      throw error;
    }
    // Only now: the end of a turn would empty a log that nobody can go on with.
    this.#log = log;
    return log;
  }

  #openTurn(): void {
    if (this.#isTurn) return;
    if (this.#isClosed) throw new Error("the database is closed");
    this.#isTurn = true;
    setImmediate(() => this.#endTurn());
  }

  #begin(): void {
    if (this.#isOpen) return;
    this.#sqlite.exec("BEGIN IMMEDIATE");
    this.#isOpen = true;
  }

  #endTurn(): void {
    if (!this.#isTurn) return;
    let how: TurnEnd;
    try {
      for (let prepare = this.#preparing.shift(); prepare !== undefined; prepare = this.#preparing.shift()) prepare();
      how = this.#keep();
    } catch (cause) {
      this.#isTurn = false;
      this.#undo(explainSqliteError(cause, this.#path) as Error);
      return this.#settleIdle();
    }
    this.#isTurn = false;
    if (how !== "empty") this.#log?.ended(how);
    this.#await(how, this.#committing.splice(0));
    this.#settleIdle();
  }

  /** In the log where the turn wrote nothing else. Tables that are not synced yet go first: their commit has emptied the log. */
  #keep(): TurnEnd {
    const log = this.#log;
    if (this.#turnError !== undefined) throw this.#turnError;
    if (!this.#isOpen) {
      if (log?.hasAppended !== true) return "empty";
      if (this.#lastInTables < this.#firstUnsynced && log.write()) return "logged";
      this.#begin();
    }
    log?.fold();
    this.#sqlite.exec("COMMIT");
    this.#isOpen = false;
    return "folded";
  }

  #undo(error: Error): void {
    const lost = [...this.#committing.splice(0), ...this.#preparing.splice(0)];
    this.#isOpen = false;
    this.#turnError = undefined;
    try {
      this.#sqlite.exec("ROLLBACK");
    } catch {
      // There was no transaction, or SQLite has rolled back by itself.
    }
    this.#log?.ended("lost");
    // In order: what came before may still be on its way to the disk.
    const before = this.#unsynced.at(-1);
    for (const callback of lost) {
      if (before === undefined) tell(callback, error);
      else before.push((syncError) => callback(syncError ?? error));
    }
  }

  #await(how: TurnEnd, waiting: Callback[]): void {
    const before = this.#unsynced.at(-1);
    // Nothing new to wait for.
    if (how === "empty" && before !== undefined) return void before.push(...waiting);
    this.#unsynced.push(waiting);
    const last = this.#firstUnsynced + this.#unsynced.length - 1;
    if (how === "folded") this.#lastInTables = last;
    const syncs = how === "empty" ? undefined : how === "folded" ? this.#tableSyncs : this.#logSyncs;
    if (syncs === undefined) this.#release(last, this.#syncError);
    else syncs.request(last);
  }

  #synced(last: number, error: Error | undefined): void {
    this.#syncError ??= error;
    this.#release(last, this.#syncError);
    this.#settleIdle();
  }

  /** A sync covers every turn before its start, whichever of two ends first: what is in tables has emptied the log before. */
  #release(last: number, error?: Error): void {
    while (this.#firstUnsynced <= last) {
      const waiting = this.#unsynced.shift() ?? [];
      this.#firstUnsynced += 1;
      for (const callback of waiting) tell(callback, error);
    }
  }

  get #isBusy(): boolean {
    return this.#isTurn || this.#tableSyncs?.isBusy === true || this.#logSyncs?.isBusy === true;
  }

  #settleIdle(): void {
    if (this.#isBusy) return;
    for (const resume of this.#idle.splice(0)) resume();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#endTurn();
    if (this.#log?.isUsed === true) this.#foldRest();
    if (this.#isBusy) await new Promise<void>((resolve) => this.#idle.push(resolve));
    this.#tableSyncs?.close();
    this.#logSyncs?.close();
    this.#log?.close(this.#syncError === undefined);
    try {
      this.#sqlite.close();
    } catch (error) {
      throw explainSqliteError(error, this.#path);
    }
  }

  /** So that the file alone has everything. Where that fails the log is still there. */
  #foldRest(): void {
    try {
      this.#begin();
    } catch {
      return;
    }
    this.#isTurn = true;
    this.#endTurn();
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
