// Reads the texts that `@file` and `@-` stand for.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Terminal } from "../terminal.ts";
import type { ReadText } from "./tool-arguments.ts";

/**
 * Returns a function that reads files, and standard input as `-`, as often as needed. Standard input is read ahead if
 * it is wanted: it may arrive late, and a synchronous read of an empty pipe would fail.
 */
export async function createTextReader({ input, cwd }: Terminal, isInputWanted: boolean): Promise<ReadText> {
  const given = isInputWanted ? await readWhole(input) : "";
  return (path) => (path === "-" ? given : readFileSync(resolve(cwd, path), "utf8"));
}

async function readWhole(input: Terminal["input"]): Promise<string> {
  let text = "";
  for await (const chunk of input.setEncoding("utf8")) text += chunk as string;
  return text;
}

/** Whether any of these values stands for standard input. */
export function isInputNamed(values: Iterable<string | undefined>): boolean {
  for (const value of values) if (value === "@-") return true;
  return false;
}
