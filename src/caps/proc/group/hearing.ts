// Reads from /proc how a process handles a signal. Linux only.
import { readFileSync } from "node:fs";

/** A process and all its descendants, including zombies. Empty on other systems. */
export function familyOf(pid: number): number[] {
  if (readProc(`${pid}/status`) === "") return [];
  const children = readProc(`${pid}/task/${pid}/children`).trim();
  return [pid, ...(children === "" ? [] : children.split(" ").flatMap((child) => familyOf(Number(child))))];
}

export type Hearing = "takes it" | "deaf" | "gone";

/**
 * How a process handles this signal. It is "deaf" if it ignores the signal, or if it is a keeper and catches it. A
 * keeper is recognised by its arguments: its forks have the same arguments until they execute another program.
 */
export function hearingOf(pid: number, signal: number, keeper: number | undefined): Hearing {
  const status = readProc(`${pid}/status`);
  if (status === "" || isDead.test(status)) return "gone";
  const bit = 1n << BigInt(signal - 1);
  const has = (name: string) => (bitsOf(status, name) & bit) !== 0n;
  const isKeeper = () => keeper !== undefined && argumentsOf(pid) === argumentsOf(keeper);
  return has("SigIgn") || (has("SigCgt") && isKeeper()) ? "deaf" : "takes it";
}

/** Whether the signal will end this process, because it has the default action. False if unknown. */
export function isEndedBy(pid: number, signal: number): boolean {
  const status = readProc(`${pid}/status`);
  const bit = 1n << BigInt(signal - 1);
  // A zombie has no handlers, but another signal ended it.
  if (status === "" || isDead.test(status)) return false;
  return ["SigIgn", "SigCgt", "SigBlk"].every((name) => (bitsOf(status, name) & bit) === 0n);
}

const isDead = /^State:\s*[ZX]/m;

function argumentsOf(pid: number): string {
  return readProc(`${pid}/cmdline`);
}

/** Signals as bits, the first in the lowest. */
function bitsOf(status: string, name: string): bigint {
  return BigInt(`0x${new RegExp(`^${name}:\\s*([0-9a-f]+)$`, "m").exec(status)?.[1] ?? "0"}`);
}

/** Empty if the file does not exist. */
export function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, "latin1");
  } catch {
    return "";
  }
}
