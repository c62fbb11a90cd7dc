// How a program in bubblewrap ended, and how its remaining processes are removed.
import { constants } from "node:os";
import { exitBehindShell } from "../../machinery/processes/program-end.ts";
import type { SandboxLimits, SandboxVerdict } from "../../plugin/ports/sandbox.ts";
import type { ControlGroup } from "../control-groups/control-groups.ts";
import { verdictOfSignal } from "../processes/process-exit.ts";
import type { ControlledConfinement } from "../workspace/workspace-watch.ts";
import { killByArgument } from "./kill-by-argument.ts";

type Ending = Pick<ControlledConfinement, "verdict" | "release" | "control">;
type Exit = Parameters<ControlledConfinement["verdict"]>[0];

const cpuCheckMs = 200;

/** If a step before the program fails, stderr has a line that begins with the name of the failed tool. */
const failedStart = /^(bwrap|a2e-sandbox|setpriv|prlimit|unshare): /m;
/** Exit codes of a shell whose child was ended by a limit. */
const limitCodes: ReadonlySet<number> = new Set([128 + constants.signals.SIGXCPU, 128 + constants.signals.SIGXFSZ]);
const outOfMemory = /MemoryError|out of memory|Cannot allocate memory|bad_alloc/;

export function endWithGroup(group: ControlGroup, { cpuSeconds }: SandboxLimits): Ending {
  let isOverdue = false;
  let released: Promise<void> | undefined;
  // The kernel's limit applies to each process, so many short processes would escape it.
  const watch = setInterval(() => {
    if (group.cpuSeconds() <= cpuSeconds) return;
    isOverdue = true;
    clearInterval(watch);
    void group.kill();
  }, cpuCheckMs);
  watch.unref();
  return {
    control: { freezer: group.freezer, processorMs: () => group.cpuSeconds() * 1000 },
    async verdict(exit) {
      const { code, signal } = exit;
      if (isOverdue || (signal === "SIGKILL" && group.cpuSeconds() >= cpuSeconds)) return "timeout";
      if (code !== 0 && group.wasOutOfMemory()) return "out_of_memory";
      return judge(exit);
    },
    release() {
      clearInterval(watch);
      released ??= group.remove();
      return released;
    },
  };
}

/**
 * Without a group, the kernel refuses memory to a program and does not kill it, so only the program's error text shows
 * it.
 */
export function endWithoutGroup(id: string): Ending {
  return {
    async verdict(exit) {
      return exit.code !== 0 && outOfMemory.test(exit.stderr) ? "out_of_memory" : judge(exit);
    },
    release: () => killByArgument(id),
  };
}

function judge({ code, signal, stderr }: Exit): SandboxVerdict | undefined {
  if (code !== null && code !== 0 && failedStart.test(stderr)) return "sandbox_crash";
  return verdictOfSignal(limitCodes.has(code ?? 0) ? exitBehindShell({ code, signal }) : { code, signal });
}
