// Snapshots as files: `<dir>/<digest of the key>/<snapshot id>.snapshot`. Several processes may share the folder.
//
// Beside them lie `<id>.snapshot.part` (being written, or left by a crash: never read) and `<id>.gone` (empty: the newest
// snapshot was deleted and its id must not be given again). Both go when the whole key is deleted.
import { mkdir, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SnapshotStore, StoredSnapshot } from "../../host/ports/snapshot-store.ts";
import { syncFolder } from "../../machinery/folder-sync.ts";
import { KeyedQueue } from "../../machinery/keyed-queue.ts";
import { type Logger, silentLogger } from "../../plugin/logger.ts";
import { digestOfKey } from "../files/digest.ts";
import { isMissing, writeNewFile } from "../files/durable-file.ts";
import { parseSnapshotFile, readSnapshotAbout, toSnapshotFile } from "./snapshot-file.ts";
import { parseSnapshotId, toSnapshotId } from "./snapshot-id.ts";

export interface FileSnapshotStoreOptions {
  dir: string;
  /**
   * Receives a warning for each file that `list` leaves out because it cannot be read; `load` rejects on such a file.
   */
  log?: Logger;
}

const suffix = ".snapshot";

/** Rejects if the folder can be neither found nor created. */
export async function createFileSnapshotStore(options: FileSnapshotStoreOptions): Promise<SnapshotStore> {
  const { dir, log = silentLogger } = options;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const queue = new KeyedQueue();
  let isClosed = false;

  // Async, so that a closed store rejects and does not throw; it still queues before it first waits.
  async function inTurn<Result>(key: string, work: (folder: string) => Promise<Result>): Promise<Result> {
    if (isClosed) throw new Error("the snapshot store is closed");
    const name = digestOfKey(key);
    return queue.run(name, () => work(join(dir, name)));
  }

  return {
    async save(key, state, about) {
      // Before it queues: the caller may change its state as soon as this returns.
      const { content, ...info } = toSnapshotFile(state, about);
      return inTurn(key, async (folder) => {
        const isNewFolder = (await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined;
        const names = await readdir(folder);
        let number = lastNumber(names) + 1;
        while (!(await writeNewFile(join(folder, toSnapshotId(number) + suffix), content))) number += 1;
        await syncFolder(folder);
        if (isNewFolder) await syncFolder(dir);
        await removeMarks(folder, names);
        return { snapshot_id: toSnapshotId(number), ...info };
      });
    },

    load(key, snapshotId) {
      return inTurn(key, async (folder) => {
        const ids = snapshotId === undefined ? newestFirst(await namesIn(folder)) : [snapshotId].filter(isSnapshotId);
        for (const id of ids) {
          const loaded = await readSnapshot(folder, id);
          // Undefined if another process has just deleted it: then the snapshot before it is the newest.
          if (loaded !== undefined) return loaded;
        }
        return undefined;
      });
    },

    list(key) {
      return inTurn(key, async (folder) => {
        const infos: StoredSnapshot[] = [];
        for (const id of newestFirst(await namesIn(folder))) {
          try {
            const info = await readInfo(folder, id);
            if (info !== undefined) infos.push(info);
          } catch (error) {
            log.warn("a snapshot is left out of a list", { cause: error instanceof Error ? error.message : error });
          }
        }
        return infos;
      });
    },

    delete(key, snapshotId) {
      return inTurn(key, async (folder) => {
        const names = await namesIn(folder);
        if (names.length === 0) return;
        if (snapshotId === undefined) {
          await rm(folder, { recursive: true, force: true });
          return syncFolder(dir);
        }
        if (!names.includes(snapshotId + suffix)) return;
        if (parseSnapshotId(snapshotId) === lastNumber(names)) await writeFile(join(folder, `${snapshotId}.gone`), "");
        await rm(join(folder, snapshotId + suffix), { force: true });
        await syncFolder(folder);
      });
    },

    async close() {
      isClosed = true;
      await queue.idle();
    },
  };
}

async function readSnapshot(folder: string, id: string) {
  const path = join(folder, id + suffix);
  return orMissing(path, async () => {
    const { about, state } = parseSnapshotFile(await readFile(path));
    return { info: { snapshot_id: id, ...about }, state };
  });
}

async function readInfo(folder: string, id: string): Promise<StoredSnapshot | undefined> {
  const path = join(folder, id + suffix);
  return orMissing(path, async () => {
    const file = await open(path, "r");
    try {
      return { snapshot_id: id, ...(await readSnapshotAbout(file)) };
    } finally {
      await file.close();
    }
  });
}

/** Undefined if the file does not exist; any other failure names the file. */
async function orMissing<Result>(path: string, read: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await read();
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw new Error(`snapshot file ${path} cannot be read: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    });
  }
}

async function namesIn(folder: string): Promise<string[]> {
  return (await orMissing(folder, () => readdir(folder))) ?? [];
}

async function removeMarks(folder: string, names: string[]): Promise<void> {
  for (const name of names) if (name.endsWith(".gone")) await rm(join(folder, name), { force: true });
}

function newestFirst(names: string[]): string[] {
  const ids = names.filter((name) => name.endsWith(suffix)).map((name) => name.slice(0, -suffix.length));
  return ids.filter(isSnapshotId).sort().reverse();
}

/** Of all that was ever begun here, so that no id is given twice. */
function lastNumber(names: string[]): number {
  return names.reduce((last, name) => Math.max(last, parseSnapshotId(name.slice(0, name.indexOf("."))) ?? 0), 0);
}

function isSnapshotId(text: string): boolean {
  return parseSnapshotId(text) !== undefined;
}
