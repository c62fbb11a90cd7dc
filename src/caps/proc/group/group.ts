// Sends signals to a process and its children.
import { readdirSync } from "node:fs";
import { readProc } from "./hearing.ts";

/** Signals the group that this process leads. False if the group is empty. */
export function signalGroup(pid: number, signal: number): boolean {
  return send(-pid, signal);
}

function send(pid: number, signal: number): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** Every process has this environment variable, so that it is found after it has left its group. */
export const markName = "A2E_PROC_ID";

/** Kills processes by their marks. Linux only; on other systems only the group is known. */
export function killMarked(isWanted: (mark: string) => boolean): void {
  // Each round finds processes that those of the last round started meanwhile.
  for (let round = 0; round < 5; round++) {
    const found = processIds().filter((pid) => isWanted(markOf(pid)));
    if (found.length === 0) return;
    for (const pid of found) send(pid, 9);
  }
}

function processIds(): number[] {
  try {
    return readdirSync("/proc")
      .map(Number)
      .filter((pid) => pid > 0);
  } catch {
    return [];
  }
}

function markOf(pid: number): string {
  const environment = readProc(`${pid}/environ`);
  const at = `\0${environment}`.indexOf(`\0${markName}=`);
  if (at === -1) return "";
  const start = at + markName.length + 1;
  const end = environment.indexOf("\0", start);
  return environment.slice(start, end === -1 ? undefined : end);
}
