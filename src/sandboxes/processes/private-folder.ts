// A folder in the system's temporary one for as long as a process lives, and no longer: what a killed one left is removed by
// the next.
import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAbandoned, processMark } from "../../machinery/processes/process-life.ts";

/** Private to this user. */
export function makePrivateFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), processMark()));
}

export async function removeAbandonedFolders(): Promise<void> {
  for (const name of (await readdir(tmpdir())).filter(isAbandoned)) {
    const path = join(tmpdir(), name);
    // Anybody may make a folder of such a name, and put links in our way while we remove what is in it.
    const isOurs = await lstat(path).then(
      ({ uid }) => uid === process.getuid?.(),
      () => false,
    );
    if (isOurs) await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}
