// The API keys of a host, in a small database of their own beside the host's. Both the host and `a2e keys` have it open
// while the host runs: unlike the host's database it has no log of turns, and may be written by several processes.
import { watch } from "node:fs";
import { join } from "node:path";
import { type ApiKeys, createApiKeys } from "../credentials/api-keys.ts";
import type { Logger } from "../plugin/logger.ts";
import { type Clock, systemClock } from "../protocol/envelope.ts";
import { createSqliteDatabase } from "../stores/sqlite/sqlite-database.ts";

export interface ApiKeyFileOptions {
  dataDir: string;
  log: Logger;
  clock?: Clock;
  /** False for a command that ends soon: it does not look for changes of other processes. */
  isWatched?: boolean;
}

export interface ApiKeyFile {
  readonly keys: ApiKeys;
  /** Resolves when all changes are on the disk. */
  close(): Promise<void>;
}

export function apiKeyPath(dataDir: string): string {
  return join(dataDir, "keys.sqlite");
}

export async function openApiKeyFile({
  dataDir,
  log,
  clock = systemClock,
  isWatched = true,
}: ApiKeyFileOptions): Promise<ApiKeyFile> {
  const path = apiKeyPath(dataDir);
  const database = await createSqliteDatabase({ path });
  try {
    // Another process that holds the lock, for example a stopped one, must not stop the only thread of a host.
    if (isWatched) database.prepare("PRAGMA busy_timeout = 50").get();
    const options = { database, clock, log };
    const keys = createApiKeys(isWatched ? { ...options, watch: (changed) => watchDatabase(path, changed) } : options);
    return {
      keys,
      async close() {
        keys.close();
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The longest time until a change is seen on a file system that reports none, such as some network drives. */
const sweepMs = 1_000;

/** Every commit of any process is written to the write-ahead log, which exists as long as this process has it open. */
function watchDatabase(path: string, changed: () => void): () => void {
  const timer = setInterval(changed, sweepMs).unref();
  try {
    const watcher = watch(`${path}-wal`, { persistent: false }, changed);
    // For example if the file was removed: the sweep remains.
    watcher.on("error", () => watcher.close());
    return () => {
      clearInterval(timer);
      watcher.close();
    };
  } catch {
    return () => clearInterval(timer);
  }
}
