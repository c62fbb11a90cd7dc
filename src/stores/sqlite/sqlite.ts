// SQLite for the stores: the only file that imports a SQLite library. A database file belongs to one store.
import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";

export type SqliteValue = string | number | bigint | null | Uint8Array;
export type SqliteRow = Record<string, unknown>;

/** The part of `DatabaseSync` in `node:sqlite` that the stores use; the package that stands in for it has the same shape. */
export interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

export interface SqliteStatement {
  run(...values: SqliteValue[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  get(...values: SqliteValue[]): SqliteRow | undefined;
  all(...values: SqliteValue[]): SqliteRow[];
}

export interface SqliteOptions {
  path: string;
  /** SQL that migrates the schema from version n to n + 1. Only ever append: released migrations have run. */
  migrations: readonly string[];
  /** How long a statement waits for another process that holds the database. */
  busyTimeoutMs?: number;
}

/** Opens or creates a database whose commits survive a power cut, and brings its schema up to date. */
export async function openSqlite({ path, migrations, busyTimeoutMs = 5000 }: SqliteOptions): Promise<SqliteDatabase> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  if (path !== ":memory:") await makePrivate(path);
  const Database = await loadSqlite();
  let database: SqliteDatabase | undefined;
  try {
    database = new Database(path);
    // The timeout first: switching to WAL already needs the lock.
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("PRAGMA synchronous = FULL");
    migrate(database, path, migrations);
    return withCheckpointOnClose(database);
  } catch (error) {
    database?.close();
    throw explainSqliteError(error, path);
  }
}

/** SQLite would create a file that other users can read; its log and index inherit the mode of this file. */
async function makePrivate(path: string): Promise<void> {
  try {
    await (await open(path, "a", 0o600)).close();
  } catch {
    // If the path cannot be used, opening it with SQLite throws with the reason.
  }
}

/**
 * The package leaves prepared statements, and with them the connection, to the garbage collector, and so never gets to the
 * checkpoint of a last close. This makes the file complete without its -wal at that point.
 */
function withCheckpointOnClose(database: SqliteDatabase): SqliteDatabase {
  return {
    exec: (sql) => database.exec(sql),
    prepare: (sql) => database.prepare(sql),
    close() {
      try {
        database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      } finally {
        database.close();
      }
    },
  };
}

/** SQLite's texts for its codes: the npm package leaves the codes out of the errors that `all` throws. */
const damages = new Map([
  [11, "database disk image is malformed"],
  [26, "file is not a database"],
]);

/** Adds the file and the remedy to an error of SQLite; returns any other error unchanged. */
export function explainSqliteError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "ERR_SQLITE_ERROR") return error;
  // The low byte is the error, the rest its variety.
  const code = "errcode" in error && typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
  const isDamaged = code === undefined ? [...damages.values()].includes(error.message) : damages.has(code);
  // All of them first: a backup put beside the write-ahead log of another file is damaged as soon as it is opened.
  const advice = isDamaged
    ? `is damaged or not a SQLite database: move it away together with ${path}-wal, ${path}-shm and ${path}-turns if they exist; then put a backup in its place, or start with an empty one`
    : "failed";
  return new Error(`database ${path} ${advice} (${error.message})`, { cause: error });
}

function migrate(database: SqliteDatabase, path: string, migrations: readonly string[]): void {
  if (readVersion(database) === migrations.length) return;
  // Immediate: if two processes open an old file at once, one migrates and the other then finds it migrated.
  database.exec("BEGIN IMMEDIATE");
  try {
    const version = readVersion(database);
    if (version > migrations.length) {
      throw new Error(
        `database ${path} has schema version ${version}, written by a newer release; this release reads up to ${migrations.length}`,
      );
    }
    for (const sql of migrations.slice(version)) database.exec(sql);
    database.exec(`PRAGMA user_version = ${migrations.length}`);
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

function readVersion(database: SqliteDatabase): number {
  return Number(database.prepare("PRAGMA user_version").get()?.user_version);
}

type SqliteConstructor = new (path: string) => SqliteDatabase;

/** The built-in module if this Node has it; otherwise the package, whose native code is loaded only now. */
async function loadSqlite(): Promise<SqliteConstructor> {
  return loadBuiltIn()?.DatabaseSync ?? (await import("@photostructure/sqlite")).DatabaseSync;
}

/**
 * Suppresses the warning that it is experimental: it would be the only line of a host on stderr, and some agents never
 * read stderr.
 */
function loadBuiltIn(): { DatabaseSync: SqliteConstructor } | undefined {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    // Node 21 and the first of Node 22 have no way to ask.
    const { getBuiltinModule } = process as { getBuiltinModule?: (name: string) => unknown };
    return getBuiltinModule?.("node:sqlite") as { DatabaseSync: SqliteConstructor } | undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
}
