// The folder with all data of a host: created if it is missing, and used by a single host at a time.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openSqlite, type SqliteDatabase } from "../stores/sqlite/sqlite.ts";
import { HostStartError } from "./host-start-error.ts";

/** A new folder gets a .gitignore for the repository that it may be in: it holds a key and messages of agents. */
export async function makeDataFolder(path: string): Promise<void> {
  if (await makeFolder("data_dir", path)) await writeFile(join(path, ".gitignore"), "*\n");
}

/** Private to this user: sessions, audit entries and files of agents lie here. Resolves with whether it is new. */
export async function makeFolder(setting: string, path: string): Promise<boolean> {
  try {
    return (await mkdir(path, { recursive: true, mode: 0o700 })) !== undefined;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === "EEXIST" || code === "ENOTDIR" ? "there is a file in its place" : message;
    throw new HostStartError(`${setting}: the folder ${path} cannot be made: ${why}`, { cause });
  }
}

/** Long enough for a host that is about to end. */
const patienceMs = 1_000;

/**
 * Keeps out other hosts that would journal their sessions there and drop those of this host. The lock is a
 * transaction, so that the operating system releases it when the process ends for any reason. Returns a function that
 * releases it.
 */
export async function lockDataFolder(path: string): Promise<() => void> {
  let lock: SqliteDatabase | undefined;
  try {
    lock = await openSqlite({ path: join(path, "host.lock"), migrations: [], busyTimeoutMs: patienceMs });
    lock.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    lock?.close();
    const isTaken = /locked|busy/.test((cause as Error).message);
    const why = isTaken ? "another host uses it: stop that host, or choose another folder" : (cause as Error).message;
    throw new HostStartError(`data_dir: the folder ${path} cannot be used: ${why}`, { cause });
  }
  return () => {
    lock.exec("ROLLBACK");
    lock.close();
  };
}
