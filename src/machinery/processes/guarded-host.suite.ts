// Hosts in processes of their own, to be killed by tests of guards.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { vi } from "vitest";

const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

/** Starts a host with this module as its program, and returns the first line that it writes, as JSON. */
export async function startGuardedHost(program: string) {
  const args = ["--import", loader, "--input-type=module", "--eval", program];
  const host = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: host.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => JSON.parse((await lines.next()).value as string);
  return {
    first: await next(),
    /** Writes a line to the host's input and returns the line that it answers with. */
    async ask(line: string): Promise<unknown> {
      host.stdin.write(`${line}\n`);
      return next();
    },
    async kill(): Promise<void> {
      if (host.exitCode !== null || host.signalCode !== null) return;
      host.kill("SIGKILL");
      await once(host, "exit");
    },
    async end(): Promise<void> {
      host.stdin.end();
      if (host.exitCode === null) await once(host, "exit");
    },
  };
}

/** Whether a process runs. A zombie, whose parent has not read its exit code, does not run. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
  } catch {
    return false;
  }
}

export function whenEnded(pid: number): Promise<void> {
  return vi.waitFor(
    () => {
      if (isRunning(pid)) throw new Error(`process ${pid} still runs`);
    },
    { timeout: 30_000 },
  );
}

/** The shell of a host's guard, by the name of the guard; undefined while there is no shell. */
export function guardShellOf(host: number, name: string): number | undefined {
  return childrenOf(host).find((child) => {
    try {
      return readFileSync(`/proc/${child}/cmdline`, "utf8").includes(`\0${name}\0`);
    } catch {
      return false;
    }
  });
}

/** The direct children of a process. */
export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
}
