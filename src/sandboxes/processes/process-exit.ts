// How a program ended, seen through a shell or a sandbox that stood between it and the host.
import { constants } from "node:os";
import type { ProcessExit, SandboxVerdict } from "../../host/sandbox.ts";

/** Above this, by the convention of shells, an exit code is the number of a signal. */
const signalBase = 128;

const crashes: ReadonlySet<string> = new Set<NodeJS.Signals>([
  "SIGABRT",
  "SIGBUS",
  "SIGFPE",
  "SIGILL",
  "SIGKILL",
  "SIGSEGV",
  "SIGSYS",
  "SIGTRAP",
  "SIGXFSZ",
]);

/** A program that ends with such a code itself cannot be told from one that was killed. */
export function exitThroughSandbox({ code, signal }: ProcessExit): ProcessExit {
  if (code === null || code <= signalBase) return { code, signal };
  const name = signalName(code - signalBase);
  return name === undefined ? { code, signal } : { code: null, signal: name };
}

/** What the signal alone says about the end of a program that nobody ended on purpose. */
export function verdictOfSignal({ signal }: ProcessExit): SandboxVerdict | undefined {
  if (signal === "SIGXCPU") return "timeout";
  return signal !== null && crashes.has(signal) ? "sandbox_crash" : undefined;
}

function signalName(number: number): NodeJS.Signals | undefined {
  const entries = Object.entries(constants.signals) as [NodeJS.Signals, number][];
  return entries.find(([, value]) => value === number)?.[0];
}
