// Signals by number and by name. Node knows only those of old: what Linux calls real-time signals is counted from here.
import { constants } from "node:os";

/** As the C library numbers them; the two below are its own. Other systems have none that could be sent. */
const realTime = { first: 34, last: process.platform === "linux" ? 64 : 33 };

const numbers = new Map<string, number>(Object.entries(constants.signals));

/** Undefined for what is no signal. Some have two names: this is the first. */
export function signalName(number: number): NodeJS.Signals | undefined {
  for (const [name, known] of numbers) if (known === number) return name as NodeJS.Signals;
  if (number < realTime.first || number > realTime.last) return undefined;
  const name = number === realTime.first ? "SIGRTMIN" : `SIGRTMIN+${number - realTime.first}`;
  return name as NodeJS.Signals;
}

/** Undefined for what is no signal. */
export function signalNumber(name: string): number | undefined {
  const known = numbers.get(name);
  if (known !== undefined) return known;
  const [, end, sign, distance = "0"] = /^SIGRT(MIN|MAX)(?:([+-])(\d{1,2}))?$/.exec(name) ?? [];
  if (end === undefined || (sign ?? "") === (end === "MIN" ? "-" : "+")) return undefined;
  const number = end === "MIN" ? realTime.first + Number(distance) : realTime.last - Number(distance);
  return number >= realTime.first && number <= realTime.last ? number : undefined;
}

/** Nobody can refuse two of them, and whoever waits for children needs the news of them. */
const { SIGKILL, SIGSTOP, SIGCHLD, ...refusable } = constants.signals;

/** What whoever stands between a program and the sender of signals has to outlive, for the program to decide. */
export const passedSignals: readonly number[] = [
  ...new Set(Object.values(refusable)),
  ...Array.from({ length: realTime.last - realTime.first + 1 }, (_, index) => realTime.first + index),
];
