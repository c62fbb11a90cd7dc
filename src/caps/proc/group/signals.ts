// Signals by any of the names that agents use.
import { signalNumber as numberOf, signalName } from "../../../machinery/processes/signal-names.ts";

export interface Signal {
  readonly name: NodeJS.Signals;
  readonly number: number;
}

/** `SIGTERM`, `term`, 15 and "15" are the same. Undefined if it is not a signal. */
export function parseSignal(given: string | number): Signal | undefined {
  const text = String(given).trim().toUpperCase();
  const number = /^\d{1,2}$/.test(text) ? Number(text) : numberOf(text.startsWith("SIG") ? text : `SIG${text}`);
  const name = number === undefined ? undefined : signalName(number);
  return number === undefined || name === undefined ? undefined : { name, number };
}

/** 0 if it is not a signal. */
export function signalNumber(name: string): number {
  return numberOf(name) ?? 0;
}

const harmless = new Set<string>([
  "SIGCONT",
  "SIGSTOP",
  "SIGTSTP",
  "SIGTTIN",
  "SIGTTOU",
  "SIGCHLD",
  "SIGURG",
  "SIGWINCH",
]);

/** Whether its default action ends a process. */
export function isDeadly({ name }: Signal): boolean {
  return !harmless.has(name);
}
