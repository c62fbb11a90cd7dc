// The folder with all data of a host: made where it is missing, and used by one host at a time.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openSqlite, type SqliteDatabase } from "../stores/sqlite/sqlite.ts";
import { HostStartError } from "./host-start-error.ts";

/** A new one keeps itself out of the repository it may lie in: it holds a key and what agents said. */
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
 * Keeps other hosts out that would journal their sessions there, and forget those of this one. Held by a transaction,
 * so that the operating system ends it with the process, however that ends. Returns what releases it.
 */
export async function lockDataFolder(path: string): Promise<() => void> {
  let lock: SqliteDatabase | undefined;
  try {
    lock = await openSqlite({ path: join(path, "host.lock"), migrations: [], busyTimeoutMs: patienceMs });
    lock.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    lock?.close();
    const isTaken = /locked|busy/.test((cause as Error).message);
    const why = isTaken ? "another host uses it: stop that one, or choose another folder" : (cause as Error).message;
    throw new HostStartError(`data_dir: the folder ${path} cannot be used: ${why}`, { cause });
  }
  return () => {
    lock.exec("ROLLBACK");
    lock.close();
  };
}
