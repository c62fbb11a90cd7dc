// How a program ended, where a shell has waited for it. A shell makes 128 + n of a signal, and a program may exit with that
// of its own accord; but in the shell's list of jobs the two differ, and so it is asked for that list.
import type { ChildProcess } from "node:child_process";
import { signalName } from "./signal-names.ts";

/** How a child process ended: with an exit code, or by a signal. */
interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Where a shell reports: open in the shell, and not in the program. */
export const reportDescriptor = 3;

/** By the convention of shells, an exit code above this is the number of a signal. */
const signalBase = 128;

/**
 * Lines of a script, for dash, bash and their like, that run a command, report how it ended, and leave its exit code in
 * `code`. The shell runs it beside itself, where SIGINT and SIGQUIT are ignored: the command has to undo that.
 */
export function reportingLines(command: string): string[] {
  // In a language that is known: bash speaks that of the program.
  const report = `LC_ALL=C jobs >&${reportDescriptor}`;
  return [
    // What the shell itself has to say about the end of a program is not the program's output.
    "exec 4<&0 5>&2 2> /dev/null",
    // Bash forgets a job with the end of the wait for it, and tells it before that only outside of POSIX mode.
    `if [ -n "$BASH_VERSION" ]; then set +o posix; trap '${report}' CHLD; fi`,
    `${command} <&4 2>&5 ${reportDescriptor}>&- 4<&- 5>&- &`,
    "wait $!",
    "code=$?",
    report,
  ];
}

/** Far more than a shell has to say: whoever got hold of the pipe may say anything. */
const maxReportLength = 1024;

export interface Report {
  /** Complete once the child is closed; empty where it was started without the pipe. */
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
 * What the program ended with, from how the shell did: with a code of its own that is reported, whatever the shell made of
 * it, or by the signal that the shell names. Without a report, a code above 128 is taken for the signal of that
 * number: few programs exit with one, and many are killed.
 */
export function exitBehindShell({ code, signal }: ProcessExit, report = ""): ProcessExit {
  const lastLine = report.trimEnd().split("\n").at(-1) ?? "";
  if (code === null || code <= signalBase) return { code, signal };
  const own = exited.exec(lastLine);
  if (own !== null) return { code: Number(own[1] ?? own[2] ?? code), signal };
  const name = signalName(code - signalBase);
  return name === undefined ? { code, signal } : { code: null, signal: name };
}
