// What the end of a program says about its sandbox.
import type { ProcessExit, SandboxVerdict } from "../../host/ports/sandbox.ts";

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

/** What the signal alone says about the end of a program that nobody ended on purpose. */
export function verdictOfSignal({ signal }: ProcessExit): SandboxVerdict | undefined {
  if (signal === "SIGXCPU") return "timeout";
  return signal !== null && crashes.has(signal) ? "sandbox_crash" : undefined;
}
