import { readdir, readFile } from "node:fs/promises";

/** O_CLOEXEC, as Linux shows it. */
const closedOnExec = 0o2000000;

/**
 * Open files that this process was started with and hands on to every program it starts, beside the three usual ones. Node
 * marks those with low numbers so that it does not, but not those behind a gap.
 */
export async function findInheritedFiles(): Promise<number[]> {
  const open = (await readdir("/proc/self/fdinfo")).map(Number).filter((descriptor) => descriptor > 2);
  const inherited = await Promise.all(
    open.map(async (descriptor) => {
      // The one that this folder was read through is closed by now.
      const info = await readFile(`/proc/self/fdinfo/${descriptor}`, "utf8").catch(() => "");
      const flags = /^flags:\s+(\d+)$/m.exec(info)?.[1];
      return flags !== undefined && (Number.parseInt(flags, 8) & closedOnExec) === 0 ? [descriptor] : [];
    }),
  );
  return inherited.flat();
}
