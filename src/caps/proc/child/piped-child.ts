// A program with pipes for its input and output.
import { type ChildProcess, spawn } from "node:child_process";
import { readReport } from "../../../machinery/processes/program-end.ts";
import type { Child, ChildCommand, ChildEvents } from "./child.ts";

/** Rejects with the system's error if the program cannot be started. */
export async function startPipedChild(command: ChildCommand, hasInput: boolean, events: ChildEvents): Promise<Child> {
  const child = spawn(command.file, command.args, {
    cwd: command.cwd,
    env: command.env,
    stdio: [hasInput ? "pipe" : "ignore", "pipe", "pipe", ...(command.isReported ? ["pipe" as const] : [])],
    // Its own session and group, so that signals reach all of its processes and no others.
    detached: true,
  });
  if (child.pid === undefined) throw await failureOf(child);
  return watch(child, child.pid, events);
}

function failureOf(child: ChildProcess): Promise<Error> {
  return new Promise((resolve) => child.once("error", resolve));
}

function watch(child: ChildProcess, pid: number, events: ChildEvents): Child {
  const { stdin, stdout, stderr } = child;
  const report = readReport(child);
  stdout?.on("data", (bytes: Buffer) => events.output("stdout", bytes));
  stderr?.on("data", (bytes: Buffer) => events.output("stderr", bytes));
  // Errors of closed pipes are ignored: the exit of the process is reported anyway.
  for (const stream of [stdin, stdout, stderr]) stream?.on("error", () => {});
  child.on("error", () => {});
  child.once("exit", (code, signal) => events.exited(code, signal));
  child.once("close", () => events.closed());
  return {
    pid,
    get report() {
      return report.text;
    },
    get pendingInput() {
      return stdin?.writable === true ? stdin.writableLength : undefined;
    },
    write: (bytes) => void stdin?.write(bytes),
    endInput: () => void stdin?.end(),
    pause() {
      stdout?.pause();
      stderr?.pause();
    },
    resume() {
      stdout?.resume();
      stderr?.resume();
    },
    destroy() {
      for (const stream of [stdin, stdout, stderr]) stream?.destroy();
      report.close();
    },
  };
}
