// Signals by whatever name an agent gives them.
import { constants } from "node:os";

export interface Signal {
  readonly name: string;
  readonly number: number;
}

const numbers = new Map<string, number>(Object.entries(constants.signals));
const maxSignal = 64;

/** `SIGTERM`, `term`, 15 and "15" are the same; real-time signals have numbers only. Undefined for what is no signal. */
export function parseSignal(given: string | number): Signal | undefined {
  const text = String(given).trim().toUpperCase();
  if (/^\d{1,2}$/.test(text)) {
    const number = Number(text);
    return number >= 1 && number <= maxSignal ? { name: signalName(number), number } : undefined;
  }
  const name = text.startsWith("SIG") ? text : `SIG${text}`;
  const number = numbers.get(name);
  return number === undefined ? undefined : { name: signalName(number), number };
}

/** The first name of a number: some have two. */
function signalName(number: number): string {
  for (const [name, known] of numbers) if (known === number) return name;
  return `SIG${number}`;
}

export function signalNumber(name: string): number {
  return numbers.get(name) ?? 0;
}

const harmless = new Set(["SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGCHLD", "SIGURG", "SIGWINCH"]);

/** Whether it ends a process that does nothing about it. */
export function isDeadly({ name }: Signal): boolean {
  return !harmless.has(name);
}
