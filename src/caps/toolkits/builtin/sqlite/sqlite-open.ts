// Opens a database file for one query, which cannot open any other file.
import {
  closeSync,
  existsSync,
  constants as fileConstants,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  statSync,
} from "node:fs";
import { pathToFileURL } from "node:url";
import { DatabaseSync } from "@photostructure/sqlite";

export type OpenDatabase = InstanceType<typeof DatabaseSync>;

export interface OpenedDatabase {
  readonly database: OpenDatabase;
  /** Throws if the database was written to during the query, so that the rows may mix two states. */
  checkUnchanged(): void;
}

export interface OpenOptions {
  /** With all links resolved. */
  path: string;
  isWritable: boolean;
  /** How long to wait for another process that writes. */
  busyMs: number;
  memoryMb: number;
  maxSqlLength: number;
}

export function openDatabase({ path, isWritable, busyMs, memoryMb, maxSqlLength }: OpenOptions): OpenedDatabase {
  const resting = isWritable ? undefined : stampOfResting(path);
  const database = new DatabaseSync(resting === undefined ? path : toImmutable(path), {
    readOnly: !isWritable,
    allowExtension: false,
    defensive: true,
    timeout: busyMs,
    limits: { attach: 0, length: memoryMb * 1024 * 1024, sqlLength: maxSqlLength },
  });
  try {
    // Sorting and temporary tables use memory, which is limited, and not the disk, which is not.
    database.exec(`PRAGMA hard_heap_limit = ${memoryMb * 1024 * 1024}`);
    database.exec("PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF");
    if (!isWritable) database.exec("PRAGMA query_only = ON");
    // SQLite opens the file only on first use.
    database.prepare("SELECT count(*) FROM sqlite_schema").get();
    checkOpened(path);
  } catch (error) {
    database.close();
    throw error;
  }
  const checkUnchanged = () => {
    if (resting !== undefined && stampOfResting(path) !== resting)
      throw new Error("the database was written to while it was read; try again");
  };
  return { database, checkUnchanged };
}

/**
 * To read a database in WAL mode, SQLite creates two files beside it, but its folder may be read-only. If no process
 * has the database open, there is no WAL file, and the database can be opened as immutable. Returns a stamp of the file
 * for this case, and undefined for all others.
 */
function stampOfResting(path: string): string | undefined {
  if (existsSync(`${path}-wal`) || !isInWalMode(path)) return undefined;
  const { ino, size, mtimeNs } = statSync(path, { bigint: true });
  return [ino, size, mtimeNs].join("-");
}

const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = fileConstants;

/** The header of the file has 2 for both the read and the write version of the format. */
function isInWalMode(path: string): boolean {
  const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const header = Buffer.alloc(20);
    return readSync(file, header, 0, 20, 0) === 20 && header[18] === 2 && header[19] === 2;
  } finally {
    closeSync(file);
  }
}

function toImmutable(path: string): URL {
  const url = pathToFileURL(path);
  url.searchParams.set("immutable", "1");
  return url;
}

/**
 * A folder of the path may have been replaced by a link since it was resolved: checks that the open file has this path.
 */
function checkOpened(path: string): void {
  if (process.platform !== "linux") return;
  const open = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return "";
    }
  });
  if (!open.includes(path)) throw new Error("the path of the database changed while it was opened");
}
