// A temporary folder for the lifetime of a process; folders of killed processes are removed by the next process.
import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAbandoned, processMark } from "../../machinery/processes/process-life.ts";

/** Readable by this user only. */
export function makePrivateFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), processMark()));
}

export async function removeAbandonedFolders(): Promise<void> {
  for (const name of (await readdir(tmpdir())).filter(isAbandoned)) {
    const path = join(tmpdir(), name);
    // Any user may create a folder with such a name, and replace its entries by links while it is being removed.
    const isOurs = await lstat(path).then(
      ({ uid }) => uid === process.getuid?.(),
      () => false,
    );
    if (isOurs) await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}
