// How a program ended that a shell has waited for. A shell turns a signal into 128 + n, and a program may exit with
// that code itself. The shell's list of jobs shows the difference, so the shell reports that list.
import type { ChildProcess } from "node:child_process";
import { signalName } from "./signal-names.ts";

/** How a child process ended: with an exit code, or by a signal. */
interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** The descriptor of the report: open in the shell, and closed in the program. */
export const reportDescriptor = 3;

/** By the convention of shells, an exit code above this is the number of a signal. */
const signalBase = 128;

/**
 * Lines of a script, for dash, bash and similar shells, that run a command, report how it ended, and leave its exit
 * code in `code`. The shell runs it in the background, where SIGINT and SIGQUIT are ignored: the command has to reset
 * that.
 */
export function reportingLines(command: string): string[] {
  // In English: bash would otherwise use the language of the program's environment.
  const report = `LC_ALL=C jobs >&${reportDescriptor}`;
  return [
    // The shell's own messages about the end of a program are not the program's output.
    "exec 4<&0 5>&2 2> /dev/null",
    // Bash forgets a job when the wait for it ends, and reports it before that only outside of POSIX mode.
    `if [ -n "$BASH_VERSION" ]; then set +o posix; trap '${report}' CHLD; fi`,
    `${command} <&4 2>&5 ${reportDescriptor}>&- 4<&- 5>&- &`,
    "wait $!",
    "code=$?",
    report,
  ];
}

/** Far longer than any report: a program that got hold of the pipe may write anything. */
const maxReportLength = 1024;

export interface Report {
  /** Complete once the child is closed; empty if it was started without the pipe. */
  readonly text: string;
  close(): void;
}

/** To be called as soon as the child is started. */
export function readReport(child: Pick<ChildProcess, "stdio">): Report {
  const pipe = child.stdio[reportDescriptor];
  let text = "";
  pipe?.on("data", (bytes: Buffer) => {
    text = (text + bytes.toString("latin1")).slice(-maxReportLength);
  });
  pipe?.on("error", () => {});
  return {
    get text() {
      return text;
    },
    close: () => void pipe?.destroy(),
  };
}

/**
 * A job that has exited, in the words of shells: `[1] + Done(143)` or `[1]+  Exit 143`; `[1] + Terminated` was killed. The last
 * line counts: as the first process of a sandbox, bash also lists its job when others end.
 */
const exited = /^\[\d+\] *[+-]? +(?:Done(?:\((\d+)\))?|Exit (\d+))/;

/**
 * How the program ended, derived from the exit of the shell: with the exit code that is reported, whatever the shell's
 * own code, or by the signal that the shell names. Without a report, a code above 128 is taken for the signal of that
 * number: few programs exit with such a code, and many are killed.
 */
export function exitBehindShell({ code, signal }: ProcessExit, report = ""): ProcessExit {
  const lastLine = report.trimEnd().split("\n").at(-1) ?? "";
  if (code === null || code <= signalBase) return { code, signal };
  const own = exited.exec(lastLine);
  if (own !== null) return { code: Number(own[1] ?? own[2] ?? code), signal };
  const name = signalName(code - signalBase);
  return name === undefined ? { code, signal } : { code: null, signal: name };
}
