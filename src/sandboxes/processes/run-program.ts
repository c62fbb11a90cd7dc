// One program from start to end, for asking a machine what it can do.
import { spawn } from "node:child_process";
import type { ProcessExit } from "../../host/ports/sandbox.ts";

export interface ProgramRun {
  file: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  timeoutMs: number;
}

export type ProgramResult = ProcessExit & { stdout: string; stderr: string };

/** Resolves in any case: a program that is not there ended with a code of null and says why on stderr. */
export function runProgram({ file, args, env = {}, cwd = "/", timeoutMs }: ProgramRun): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      env,
      cwd,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    // All of it: what it started may hold its output open.
    const timer = setTimeout(() => killGroup(child.pid), timeoutMs);
    let stdout = "";
    let stderr = "";
    // First of all: a process that has no files left to open for a child's pipes gets this and no pipes.
    child.once("error", (error) => {
      clearTimeout(timer);
      resolve({ code: null, signal: null, stdout, stderr: error.message });
    });
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stdout, stderr });
    });
  });
}

function killGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}
