// The environment of a command: two streams of text, variables, signals. Passed in, so that tests need no process.
import { basename, relative, sep } from "node:path";
import type { Readable, Writable } from "node:stream";
import { openStandardInput } from "../transports/stdio/standard-input.ts";
import { exitCodes } from "./exit-codes.ts";
import { createStyle, type Style } from "./style.ts";

export interface Terminal {
  /** Writes a line of data, for people or scripts, to stdout. */
  print(text: string): void;
  /** Writes a line about the progress to stderr. */
  note(text: string): void;
  readonly style: Style;
  readonly noteStyle: Style;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly input: Readable;
  /** Standard input for a peer that is to be answered fast: emits text, in place of `input`, from the next turn on. */
  openText(): Readable;
  readonly output: Writable;
  /** How to call this program again, for lines that a user copies. */
  readonly program: string;
  /** The exit code of the process; a command sets it if it fails after having printed the reason. */
  exitCode: number;
  /**
   * Calls back for SIGINT and SIGTERM, which then do not end the process by themselves. Returns a function that
   * removes the handler.
   */
  onStop(handler: (signal: NodeJS.Signals) => void): () => void;
}

export function createProcessTerminal(): Terminal {
  const { stdout, stderr, env } = process;
  // A host must not end because its stderr cannot be written.
  stderr.on("error", () => {});
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A reader that closes early, as in `a2e tools | head`, is not a failure.
    if (error.code === "EPIPE" || terminal.exitCode === exitCodes.failed) return;
    terminal.exitCode = exitCodes.failed;
    terminal.note(`error: standard output cannot be written: ${error.message}`);
  });
  const terminal: Terminal = {
    print: (text) => void stdout.write(`${text}\n`),
    note: (text) => void stderr.write(`${text}\n`),
    style: createStyle(stdout, env),
    noteStyle: createStyle(stderr, env),
    env,
    cwd: process.cwd(),
    // Only when it is asked for: to look at it is to open it.
    get input() {
      return process.stdin;
    },
    openText: openStandardInput,
    output: stdout,
    program: programName(process.argv[1] ?? "a2e", process.cwd()),
    exitCode: 0,
    onStop(handler) {
      process.on("SIGINT", handler).on("SIGTERM", handler);
      return () => process.off("SIGINT", handler).off("SIGTERM", handler);
    },
  };
  return terminal;
}

/** Installed globally, installed in a project, or a file of a clone. */
export function programName(script: string, cwd: string): string {
  if (script.split(sep).includes(".bin")) return "npx a2e";
  if (basename(script) === "a2e") return "a2e";
  const path = relative(cwd, script);
  const shown = path.startsWith("..") ? script : path;
  return `node ${script.endsWith(".ts") ? "--import tsx " : ""}${/\s/.test(shown) ? JSON.stringify(shown) : shown}`;
}
