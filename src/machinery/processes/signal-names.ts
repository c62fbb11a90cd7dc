// Signals by number and by name. Node lists only the standard signals; the real-time signals of Linux are added here.
import { constants } from "node:os";

/** As the C library numbers them, which reserves the two below. On other systems the range is empty. */
const realTime = { first: 34, last: process.platform === "linux" ? 64 : 33 };

const numbers = new Map<string, number>(Object.entries(constants.signals));

/** Undefined for a number that is not a signal. Some signals have two names: this returns the first. */
export function signalName(number: number): NodeJS.Signals | undefined {
  for (const [name, known] of numbers) if (known === number) return name as NodeJS.Signals;
  if (number < realTime.first || number > realTime.last) return undefined;
  const name = number === realTime.first ? "SIGRTMIN" : `SIGRTMIN+${number - realTime.first}`;
  return name as NodeJS.Signals;
}

/** Undefined for a name that is not a signal. */
export function signalNumber(name: string): number | undefined {
  const known = numbers.get(name);
  if (known !== undefined) return known;
  const [, end, sign, distance = "0"] = /^SIGRT(MIN|MAX)(?:([+-])(\d{1,2}))?$/.exec(name) ?? [];
  if (end === undefined || (sign ?? "") === (end === "MIN" ? "-" : "+")) return undefined;
  const number = end === "MIN" ? realTime.first + Number(distance) : realTime.last - Number(distance);
  return number >= realTime.first && number <= realTime.last ? number : undefined;
}

/** SIGKILL and SIGSTOP cannot be ignored, and a parent that waits for children needs SIGCHLD. */
const { SIGKILL, SIGSTOP, SIGCHLD, ...refusable } = constants.signals;

/** Signals that a process between the sender and a program must ignore, so that the program decides. */
export const passedSignals: readonly number[] = [
  ...new Set(Object.values(refusable)),
  ...Array.from({ length: realTime.last - realTime.first + 1 }, (_, index) => realTime.first + index),
];
