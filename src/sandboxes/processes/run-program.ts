// Runs one program from start to end, to test what a machine supports.
import { spawn } from "node:child_process";
import type { ProcessExit } from "../../plugin/ports/sandbox.ts";

export interface ProgramRun {
  file: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  timeoutMs: number;
}

export type ProgramResult = ProcessExit & { stdout: string; stderr: string };

/** Always resolves: a program that cannot be started has the code null and the reason in stderr. */
export function runProgram({ file, args, env = {}, cwd = "/", timeoutMs }: ProgramRun): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      env,
      cwd,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    // Kills the whole group: its children may hold its output open.
    const timer = setTimeout(() => killGroup(child.pid), timeoutMs);
    let stdout = "";
    let stderr = "";
    // Registered first: if there are no file descriptors left for pipes, this is emitted and the pipes are missing.
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
    // It has already ended.
  }
}
