// Runs commands in a sandbox from start to release, as a capability does.
import { execFile, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { readReport } from "../../machinery/processes/program-end.ts";
import type {
  ConfinedCommand,
  Confinement,
  ProcessExit,
  ProcessSandbox,
  SandboxPolicy,
} from "../../plugin/ports/sandbox.ts";

export interface RunOptions extends Partial<SandboxPolicy> {
  cwd?: string;
  env?: Record<string, string>;
  stdin?: string | Buffer;
  /** Called with the first output, and the id of the started process. */
  onOutput?(pid: number, confinement: Confinement): void;
}

export interface RunResult extends ProcessExit {
  stdout: string;
  stderr: string;
  verdict: string | undefined;
  isWorkspaceFull: boolean;
}

export const programPath = "/usr/local/bin:/usr/bin:/bin";

/** A separate folder for each test file. */
export async function makeWorkspace(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), "a2e-sandbox-test-"));
  return { path, [Symbol.asyncDispose]: () => removeTree(path) };
}

/** Also removes folders that are nested so deeply that Node cannot address their entries. */
export async function removeTree(path: string): Promise<void> {
  await promisify(execFile)("rm", ["-rf", path]);
}

export async function runConfined(
  sandbox: ProcessSandbox,
  argv: ConfinedCommand["argv"],
  { cwd, env = {}, stdin = "", onOutput, network = false, limits = {}, ...policy }: RunOptions = {},
): Promise<RunResult> {
  const place = cwd ?? policy.workspace?.path ?? "/tmp";
  const command = { argv, cwd: place, env: { ...env, PATH: env.PATH ?? programPath }, isReported: true };
  const confinement = await sandbox.confine(command, { network, limits, ...policy });
  try {
    const { stdout, stderr, report, ...started } = await start(confinement, stdin, onOutput);
    const exit = confinement.exitOf(started, report);
    return {
      ...exit,
      stdout: stdout.toString(),
      stderr: stderr.toString(),
      verdict: await confinement.verdict({ ...exit, stderr: stderr.toString() }),
      isWorkspaceFull: confinement.isWorkspaceFull?.() ?? false,
    };
  } finally {
    await confinement.release();
  }
}

function start(
  confinement: Confinement,
  stdin: string | Buffer,
  onOutput: RunOptions["onOutput"],
): Promise<ProcessExit & { stdout: Buffer; stderr: Buffer; report: string }> {
  return new Promise((resolve, reject) => {
    const { file, args, cwd, env } = confinement;
    const child = spawn(file, args, { cwd, env, detached: true, stdio: ["pipe", "pipe", "pipe", "pipe"] });
    const report = readReport(child);
    const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    child.stdout.once("data", () => onOutput?.(child.pid ?? 0, confinement));
    child.stdout.on("data", (chunk: Buffer) => output.stdout.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => output.stderr.push(chunk));
    child.once("error", reject);
    child.once("close", (code, signal) =>
      resolve({
        code,
        signal,
        stdout: Buffer.concat(output.stdout),
        stderr: Buffer.concat(output.stderr),
        report: report.text,
      }),
    );
    // A program may end without reading its input.
    child.stdin.on("error", () => {}).end(stdin);
  });
}

/** Ids of all processes of this machine that were started with this argument. */
export function processesWith(argument: string): number[] {
  return allProcesses()
    .filter(({ args }) => args.split("\0").includes(argument))
    .map(({ pid }) => Number(pid));
}

/** The command lines and environments that are visible in a list of processes. */
export function argumentsOfAll(): string {
  return allProcesses()
    .map(({ args }) => args)
    .join("\0");
}

function allProcesses(): { pid: string; args: string }[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => ({ pid, args: readArguments(pid) }));
}

function readArguments(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** True as soon as no process has this argument; false if a process still has it after a minute. */
export async function vanished(argument: string): Promise<boolean> {
  const deadline = Date.now() + 60_000;
  while (processesWith(argument).length > 0) {
    if (Date.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return true;
}
