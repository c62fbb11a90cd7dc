// A folder in the system's temporary one for as long as a process lives, and no longer: what a killed one left is removed by
// the next.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAbandoned, processMark } from "./process-life.ts";

/** Private to this user. */
export function makePrivateFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), processMark()));
}

export async function removeAbandonedFolders(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    // Somebody else's cannot be removed, and need not be.
    if (isAbandoned(name)) await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {});
  }
}
