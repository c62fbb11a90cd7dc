// What the exit of a program shows about its sandbox.
import type { ProcessExit, SandboxVerdict } from "../../plugin/ports/sandbox.ts";

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

/** The verdict by the signal alone, for a program that was not ended on purpose. */
export function verdictOfSignal({ signal }: ProcessExit): SandboxVerdict | undefined {
  if (signal === "SIGXCPU") return "timeout";
  return signal !== null && crashes.has(signal) ? "sandbox_crash" : undefined;
}
