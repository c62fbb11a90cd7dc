// Which processes are alive, and which names on the machine belong to a process that has ended.
import { readlinkSync } from "node:fs";

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user is alive too.
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
 * The prefix of names that this process gives to resources outside of itself, such as files and containers. The id of
 * a process is unique only within its namespace, and containers may share a file system.
 */
export function processMark(): string {
  return `a2e-${namespaceId()}-${process.pid}-`;
}

/** True if the process that created the name has ended. */
export function isAbandoned(name: string): boolean {
  const [, namespace, pid] = mark.exec(name) ?? [];
  return namespace === namespaceId() && !isAlive(Number(pid));
}

function namespaceId(): string {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  } catch {
    // Not Linux: all processes share a namespace.
    return "0";
  }
}
