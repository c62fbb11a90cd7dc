// Which processes live, and which marks on the machine belong to one that does not.
import { readlinkSync } from "node:fs";

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's is alive too.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

export function killIfAlive(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}

const mark = /^a2e-(\d+)-(\d+)-/;

/**
 * The beginning of names that this process gives to what it makes outside of itself. The id of a process means something only
 * within its namespace, and containers may share what they see.
 */
export function processMark(): string {
  return `a2e-${namespaceId()}-${process.pid}-`;
}

/** True for a name that a process gave which is no more. */
export function isAbandoned(name: string): boolean {
  const [, namespace, pid] = mark.exec(name) ?? [];
  return namespace === namespaceId() && !isAlive(Number(pid));
}

function namespaceId(): string {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  } catch {
    // No Linux: there is one for all.
    return "0";
  }
}
