// The command line as a process of its own.
import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";

/**
 * Arguments of Node that start the command line. vitest.config.ts sets A2E_TEST_MAIN if dist is up to date: it starts three
 * times as fast as the sources do.
 */
export function cliArguments(): string[] {
  const { A2E_TEST_MAIN } = process.env;
  if (A2E_TEST_MAIN !== undefined) return [A2E_TEST_MAIN];
  return ["--import", import.meta.resolve("tsx"), fileURLToPath(new URL("./main.ts", import.meta.url))];
}

export interface StartedCli {
  readonly child: ChildProcess;
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves with the exit code, or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals | null>;
  /** Resolves when this was printed on either stream; rejects if the process ends before. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Returns a function that starts a process; processes that still run after a test are killed. */
export function useCli(): (
  args: readonly string[],
  cwd: string,
  env?: Record<string, string>,
  stdio?: StdioOptions,
) => StartedCli {
  const running = new Set<ChildProcess>();
  afterEach(async () => {
    for (const child of running) {
      const isGone = new Promise((resolve) => child.once("close", resolve));
      child.kill("SIGKILL");
      await isGone;
    }
  });
  return (args, cwd, env = {}, stdio = "pipe") => {
    const { A2E_AUTH_TOKEN: _, ...inherited } = process.env;
    const child = spawn(process.execPath, [...cliArguments(), ...args], {
      cwd,
      env: { ...inherited, ...env },
      stdio,
    });
    running.add(child);
    const exited = new Promise<number | NodeJS.Signals | null>((resolve) => {
      child.once("close", (code, signal) => {
        running.delete(child);
        resolve(code ?? signal);
      });
    });
    return watch(child, exited);
  };
}

function watch(child: ChildProcess, exited: StartedCli["exited"]): StartedCli {
  let stdout = "";
  let stderr = "";
  const listeners = new Set<() => void>();
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    for (const listener of listeners) listener();
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    for (const listener of listeners) listener();
  });
  return {
    child,
    exited,
    get stdout() {
      return stdout;
    },
    get stderr() {
      return stderr;
    },
    printed(pattern) {
      return new Promise((resolve, reject) => {
        const look = () => {
          const match = pattern.exec(stdout) ?? pattern.exec(stderr);
          if (match === null) return;
          listeners.delete(look);
          resolve(match);
        };
        listeners.add(look);
        void exited.then((code) => reject(new Error(`ended with ${code} before ${pattern}\n${stdout}\n${stderr}`)));
        look();
      });
    },
  };
}
