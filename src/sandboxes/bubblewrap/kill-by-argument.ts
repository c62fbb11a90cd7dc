import { readdir, readFile } from "node:fs/promises";
import { killIfAlive } from "../../machinery/processes/process-life.ts";

/**
 * Kills the processes of this machine that were started with this argument, for processes without a control group. The
 * argument must be unique.
 */
export async function killByArgument(argument: string): Promise<void> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    const args = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (args.split("\0").includes(argument)) killIfAlive(Number(pid));
  }
}
