// The end of the help of every command.
import { exitCodes } from "./exit-codes.ts";

const meanings: Record<keyof typeof exitCodes, string> = {
  ok: "all went well",
  failed: "something failed",
  usage: "wrong usage, wrong arguments of a tool, or a mistake in the config",
  unreachable: "could not connect to a host, or it refused the handshake",
  toolFailed: "the host answered with an error, or the tool failed",
  interrupted: "interrupted with Ctrl-C",
};

export function examples(lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}

export function renderExitCodes(): string {
  const names = Object.keys(exitCodes) as (keyof typeof exitCodes)[];
  return `\nExit codes:\n${names.map((name) => `  ${String(exitCodes[name]).padEnd(4)} ${meanings[name]}`).join("\n")}`;
}
