// A terminal for tests: collects the output, and sends requests to stop.
import { PassThrough, type Readable } from "node:stream";
import { runCli } from "./run.ts";
import { createStyle } from "./style.ts";
import type { Terminal } from "./terminal.ts";

export interface CliRun {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a command in this process. */
export async function runInProcess(
  args: readonly string[],
  { cwd, env = {}, input = new PassThrough() }: { cwd: string; env?: Terminal["env"]; input?: Readable },
): Promise<CliRun> {
  const result: CliRun = { code: 0, stdout: "", stderr: "" };
  const plain = createStyle({}, {});
  const terminal: Terminal = {
    print(text) {
      result.stdout += `${text}\n`;
    },
    note(text) {
      result.stderr += `${text}\n`;
    },
    style: plain,
    noteStyle: plain,
    env,
    cwd,
    input,
    openText: () => input,
    output: new PassThrough(),
    program: "a2e",
    exitCode: 0,
    onStop: () => () => {},
  };
  result.code = await runCli(args, terminal);
  return result;
}
