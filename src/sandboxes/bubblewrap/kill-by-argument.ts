import { readdir, readFile } from "node:fs/promises";
import { killIfAlive } from "../../machinery/processes/process-life.ts";

/**
 * Kills the processes of this machine that were started with this argument. For those that nothing else holds together; the
 * argument has to be one that nobody else would use.
 */
export async function killByArgument(argument: string): Promise<void> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    const args = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (args.split("\0").includes(argument)) killIfAlive(Number(pid));
  }
}
