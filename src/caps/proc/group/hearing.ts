// Who would take a signal, as Linux shows it. Elsewhere nobody can tell.
import { readFileSync } from "node:fs";

/** A process and all that it started, dead ones that nobody has buried included. Empty where nobody can tell. */
export function familyOf(pid: number): number[] {
  if (readProc(`${pid}/status`) === "") return [];
  const children = readProc(`${pid}/task/${pid}/children`).trim();
  return [pid, ...(children === "" ? [] : children.split(" ").flatMap((child) => familyOf(Number(child))))];
}

export type Hearing = "takes it" | "deaf" | "gone";

/**
 * What a signal would do to this process: deaf is who ignores it or, where it only looks after others, catches it. Such a
 * keeper is known by its arguments: what it has forked has the same until it becomes something else.
 */
export function hearingOf(pid: number, signal: number, keeper: number | undefined): Hearing {
  const status = readProc(`${pid}/status`);
  if (status === "" || isDead.test(status)) return "gone";
  const bit = 1n << BigInt(signal - 1);
  const has = (name: string) => (bitsOf(status, name) & bit) !== 0n;
  const isKeeper = () => keeper !== undefined && argumentsOf(pid) === argumentsOf(keeper);
  return has("SigIgn") || (has("SigCgt") && isKeeper()) ? "deaf" : "takes it";
}

/** Whether the signal will end this process: it does nothing about it. False where nobody can tell. */
export function isEndedBy(pid: number, signal: number): boolean {
  const status = readProc(`${pid}/status`);
  const bit = 1n << BigInt(signal - 1);
  // A dead one has stopped its ears to nothing, and whatever ended it was something else.
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

/** Nothing, where there is no such file. */
export function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, "latin1");
  } catch {
    return "";
  }
}
