// Processor time of this process and of others. Unlike speed, it hardly changes with what else the machine is doing.
import { readFileSync } from "node:fs";

/** What the kernel counts processor time in: a hundredth of a second on every Linux there is. */
const tickUs = 10_000;

export interface CpuMeter {
  elapsedUs(): number;
}

export function createCpuMeter(pids: readonly number[]): CpuMeter {
  const total = () => pids.reduce((sum, pid) => sum + cpuUsOf(pid), ownCpuUs());
  const before = total();
  return { elapsedUs: () => total() - before };
}

function ownCpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** NaN where the system has no /proc. */
function cpuUsOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program may contain anything, a space too: fields are counted from the bracket that closes it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * tickUs;
  } catch {
    return Number.NaN;
  }
}

/** The processes that this one has started and that still run. */
export function childPids(): number[] {
  try {
    const list = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8");
    return list
      .split(" ")
      .filter((pid) => pid !== "")
      .map(Number);
  } catch {
    return [];
  }
}
