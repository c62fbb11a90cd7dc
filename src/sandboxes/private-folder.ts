// A folder in the system's temporary one for as long as a process lives, and no longer: what a killed one left is removed by
// the next.
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAbandoned, processMark } from "./process-life.ts";

/** Everybody may read it. */
export async function makePrivateFolder(): Promise<string> {
  for (const name of await readdir(tmpdir())) {
    // Somebody else's cannot be removed, and need not be.
    if (isAbandoned(name)) await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {});
  }
  const folder = await mkdtemp(join(tmpdir(), processMark()));
  await chmod(folder, 0o755);
  return folder;
}
