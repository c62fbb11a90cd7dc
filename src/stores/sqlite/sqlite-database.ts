// The host's database on SQLite. The writes of a turn are kept together: in the log of turns if the turn only appended
// to that log, else in a single transaction. Callbacks run when the turn is written, or when it is on the disk, as
// configured.
import { fdatasync } from "node:fs";
import type { Database, SqlStatement, TurnLog, TurnLogOwner } from "../../plugin/ports/database.ts";
import { ExplainedStatement } from "./explained-statement.ts";
import { createPacedSync, FileSyncs, type SyncFile } from "./file-syncs.ts";
import { explainSqliteError, openSqlite, type SqliteDatabase } from "./sqlite.ts";
import { SqliteTurnLog, turnLogMigrations } from "./sqlite-turn-log.ts";

export interface SqliteDatabaseOptions {
  /** A database in `:memory:` is not persistent. */
  path: string;
  /**
   * What the end of a turn guarantees. `process`: the turn survives the end of the process, and after `syncIntervalMs`
   * a power cut as well. `power`: it survives both from the start.
   */
  durability?: "process" | "power";
  /** With `process`: the maximum time until a turn also survives a power cut. */
  syncIntervalMs?: number;
  /** Syncs a file to the disk. */
  syncFile?: SyncFile;
  /** How many bytes the log of turns takes before it goes to tables; its file has twice as many. */
  logBytes?: number;
}

type Callback = (error?: Error) => void;

type Place = "tables" | "log";

export async function createSqliteDatabase({
  path,
  durability = "process",
  syncIntervalMs = 100,
  syncFile = durability === "power" ? createPacedSync() : fdatasync,
  logBytes,
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
  const isAwaited = durability === "power";
  const disk: Disk = { syncFile, isAwaited, intervalMs: isAwaited ? 0 : syncIntervalMs, logBytes };
  return new SqliteHostDatabase(sqlite, path, path === ":memory:" ? undefined : disk);
}

interface Disk {
  syncFile: SyncFile;
  /** Whether a turn has ended only when it is there. */
  isAwaited: boolean;
  intervalMs: number;
  logBytes: number | undefined;
}

class SqliteHostDatabase implements Database {
  readonly isPersistent: boolean;
  readonly openLog?: (owner: TurnLogOwner) => TurnLog;
  readonly #sqlite: SqliteDatabase;
  readonly #path: string;
  /** Undefined if the database is in memory. */
  readonly #disk: Disk | undefined;
  /** Of SQLite's write-ahead log, and of the log of turns. */
  readonly #tableSyncs: FileSyncs | undefined;
  #logSyncs: FileSyncs | undefined;
  #log: SqliteTurnLog | undefined;
  /** Whether this turn has anything to commit. */
  #isTurn = false;
  /** Whether it has a transaction. */
  #isOpen = false;
  #depth = 0;
  /** Why this turn is lost already. */
  #turnError: Error | undefined;
  #preparing: Callback[] = [];
  /** Waiting for the end of this turn. */
  #committing: Callback[] = [];
  /** Turns are numbered as they end. */
  #lastTurn = 0;
  /** Up to which turn each place is on the disk. */
  readonly #synced = { tables: 0, log: 0 };
  /** Waiting for a sync, oldest first. */
  readonly #unsynced: { turn: number; place: Place; waiting: Callback[] }[] = [];
  #idle: (() => void)[] = [];
  /**
   * Set after a failed sync; nothing is durable from then on. The lost writes leave a gap, and records behind a gap
   * are not read after a crash.
   */
  #syncError: Error | undefined;
  #isClosed = false;

  constructor(sqlite: SqliteDatabase, path: string, disk: Disk | undefined) {
    this.#sqlite = sqlite;
    this.#path = path;
    this.#disk = disk;
    this.isPersistent = disk !== undefined;
    if (disk === undefined) return;
    this.openLog = (owner) => this.#openLog(owner, disk);
    this.#tableSyncs = this.#createSyncs("tables", `${path}-wal`, disk);
  }

  #createSyncs(place: Place, path: string, { syncFile: sync, intervalMs, isAwaited }: Disk): FileSyncs {
    const synced = (last: number, error: Error | undefined) => this.#noteSync(place, last, error);
    // A single sync at a time if no callback waits for it: on a disk that hangs, two would occupy two threads of the
    // pool.
    return new FileSyncs({ path, sync, intervalMs, atOnce: isAwaited ? 2 : 1, synced });
  }

  migrate(component: string, migrations: readonly string[]): void {
    this.write(() => {
      const known = this.#sqlite.prepare("SELECT version FROM component WHERE name = ?").get(component);
      const version = Number(known?.version ?? 0);
      if (version > migrations.length) {
        throw new Error(
          `database ${this.#path}: the tables of "${component}" have version ${version}, written by a newer release; this release reads up to ${migrations.length}`,
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
      // A full disk, for example, makes SQLite roll back the transaction by itself: later writes would be outside of
      // any transaction.
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
    const waiting = this.#isTurn ? this.#committing : this.#unsynced.at(-1)?.waiting;
    if (waiting === undefined) callback(this.#syncError);
    else waiting.push(callback);
  }

  #openLog(owner: TurnLogOwner, disk: Disk): TurnLog {
    this.#log ??= this.#createLog(disk);
    return this.#log.open(owner);
  }

  #createLog(disk: Disk): SqliteTurnLog {
    this.migrate("turn_log", turnLogMigrations);
    const path = `${this.#path}-turns`;
    const onAppend = () => this.#openTurn();
    const log = new SqliteTurnLog(this.#sqlite, { path, logBytes: disk.logBytes, onAppend });
    try {
      this.#logSyncs = this.#createSyncs("log", path, disk);
    } catch (error) {
      // The end of a turn would empty a log that could not be opened completely.
      log.abandon();
      throw error;
    }
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
    try {
      this.#sqlite.exec("BEGIN IMMEDIATE");
    } catch (error) {
      throw explainSqliteError(error, this.#path);
    }
    this.#isOpen = true;
  }

  #endTurn(): void {
    if (!this.#isTurn) return;
    let place: Place | undefined;
    try {
      for (let prepare = this.#preparing.shift(); prepare !== undefined; prepare = this.#preparing.shift()) prepare();
      place = this.#keep();
    } catch (cause) {
      this.#isTurn = false;
      this.#undo(explainSqliteError(cause, this.#path) as Error);
      return this.#settleIdle();
    }
    this.#isTurn = false;
    if (place !== undefined) this.#log?.ended(place === "log" ? "logged" : "folded");
    this.#await(place, this.#committing.splice(0));
    this.#settleIdle();
  }

  /** Writes the turn to the log if it only appended to the log, else to tables. Undefined if the turn wrote nothing. */
  #keep(): Place | undefined {
    const log = this.#log;
    if (this.#turnError !== undefined) throw this.#turnError;
    if (!this.#isOpen) {
      if (log?.hasAppended !== true) return undefined;
      if (log.write()) return "log";
      this.#begin();
    }
    log?.fold(this.#lastTurn + 1, this.#synced.tables);
    this.#sqlite.exec("COMMIT");
    this.#isOpen = false;
    return "tables";
  }

  #undo(error: Error): void {
    const lost = [...this.#committing.splice(0), ...this.#preparing.splice(0)];
    this.#isOpen = false;
    this.#turnError = undefined;
    try {
      this.#sqlite.exec("ROLLBACK");
    } catch {
      // There was no transaction, or SQLite has rolled it back by itself.
    }
    // A commit may fail after it took place. Then it is in tables, and has to be synced like any other.
    if (this.#log?.ended("lost") === "folded") this.#await("tables", []);
    // In order: earlier turns may still wait for their sync.
    const before = this.#unsynced.at(-1)?.waiting;
    for (const callback of lost) {
      if (before === undefined) tell(callback, error);
      else before.push((syncError) => callback(syncError ?? error));
    }
  }

  #await(place: Place | undefined, waiting: Callback[]): void {
    if (place === undefined) {
      // There is no new write to wait for.
      const before = this.#unsynced.at(-1)?.waiting;
      return before === undefined ? this.#tell(waiting) : void before.push(...waiting);
    }
    const turn = this.#lastTurn + 1;
    this.#lastTurn = turn;
    const isAwaited = this.#disk?.isAwaited === true;
    if (isAwaited) this.#unsynced.push({ turn, place, waiting });
    (place === "tables" ? this.#tableSyncs : this.#logSyncs)?.request(turn);
    if (!isAwaited) this.#tell(waiting);
  }

  #noteSync(place: Place, last: number, error: Error | undefined): void {
    this.#syncError ??= error;
    // After a failure nothing counts as synced: a half of the log that may be the only copy on the disk must not be
    // overwritten.
    if (this.#syncError === undefined) this.#synced[place] = Math.max(this.#synced[place], last);
    // In order: records in the log are worthless without the tables before them.
    for (let next = this.#unsynced[0]; next !== undefined && this.#isDecided(next); next = this.#unsynced[0]) {
      this.#unsynced.shift();
      this.#tell(next.waiting);
    }
    this.#settleIdle();
  }

  /**
   * Whether this turn, the oldest that waits, is on the disk or never will be. Synced tables include all earlier log
   * records.
   */
  #isDecided({ turn, place }: { turn: number; place: Place }): boolean {
    if (this.#syncError !== undefined) return true;
    return turn <= this.#synced.tables || (place === "log" && turn <= this.#synced.log);
  }

  #tell(waiting: readonly Callback[]): void {
    for (const callback of waiting) tell(callback, this.#syncError);
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
    this.#tableSyncs?.hurry();
    this.#logSyncs?.hurry();
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

  /** Folds the log into tables, so that the database file is complete by itself. If that fails, the log remains. */
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

/** A callback that throws must not keep the others waiting; its error becomes an uncaught exception of its own. */
function tell(callback: Callback, error: Error | undefined): void {
  try {
    callback(error);
  } catch (thrown) {
    queueMicrotask(() => {
      throw thrown;
    });
  }
}
