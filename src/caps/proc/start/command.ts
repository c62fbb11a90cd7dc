// Finds the file of a requested program, and checks it against the rules.
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { basename, delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { createWildcard } from "../../../protocol/wildcards/wildcard.ts";

/** A program by name or absolute path, `*` for any; with `args`, each argument must match one of the patterns. */
export interface CommandRule {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
}

export type Found = { readonly files: Iterable<string>; readonly problem?: undefined } | { readonly problem: string };

/**
 * Names are looked up only in the host's own PATH: with the PATH of an agent, a file that the agent wrote could have
 * the name of an allowed program.
 */
export class Commands {
  readonly #rules: readonly CommandRule[];
  readonly #folders: readonly string[];

  constructor(rules: readonly CommandRule[], path: string) {
    this.#rules = rules;
    this.#folders = path.split(delimiter).filter((folder) => isAbsolute(folder));
  }

  /** Candidates for the file to run, best first, or the problem for the agent. */
  find([command = "", ...args]: readonly string[], cwd: string): Found {
    const named = this.#rules.filter((rule) => this.#names(rule, command, cwd));
    if (named.length === 0) return { problem: `Command not allowed: "${shorten(command)}" is not in allowed_commands` };
    const refused = firstRefused(named, args);
    if (refused !== undefined)
      return {
        problem: `Command not allowed: the argument "${shorten(refused)}" of "${shorten(command)}" matches no pattern`,
      };
    for (const first of this.#lookUp(command, cwd)) return { files: this.#others(first, command, cwd) };
    return { problem: `Command not found: there is no program "${shorten(command)}" that this host can run` };
  }

  #names({ command: allowed }: CommandRule, command: string, cwd: string): boolean {
    if (allowed === "*" || allowed === command) return true;
    if (!isAbsolute(allowed) && !command.includes("/")) return false;
    const known = new Set(Array.from(this.#lookUp(allowed, "/"), canonical));
    return Array.from(this.#lookUp(command, cwd), canonical).some((file) => known.has(file));
  }

  /** The first is nearly always enough; if a sandbox does not contain it, the next is tried. */
  *#others(first: string, command: string, cwd: string): Generator<string> {
    yield first;
    for (const file of this.#lookUp(command, cwd)) if (file !== first) yield file;
  }

  *#lookUp(command: string, cwd: string): Generator<string> {
    const files = command.includes("/")
      ? [resolve(cwd, command)]
      : this.#folders.map((folder) => join(folder, command));
    for (const file of files) if (isProgram(file)) yield file;
  }
}

function firstRefused(rules: readonly CommandRule[], args: readonly string[]): string | undefined {
  let refused: string | undefined;
  for (const { args: patterns } of rules) {
    refused =
      patterns === undefined ? undefined : args.find((arg) => !patterns.some((one) => matchesPattern(one, arg)));
    if (refused === undefined) return undefined;
  }
  return refused;
}

/** Whether the whole text matches the pattern: `*` stands for any characters, `?` for one. */
export function matchesPattern(pattern: string, text: string): boolean {
  return createWildcard(pattern, { questionMark: true })(text);
}

/** Synchronous: it takes microseconds, and starting the program takes the same thread a hundred times longer. */
function isProgram(file: string): boolean {
  try {
    if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Resolves links of the folder only: the name of a link may decide what the program does. */
function canonical(file: string): string {
  try {
    return join(realpathSync(dirname(file)), basename(file));
  } catch {
    return file;
  }
}

/** The part of a command that is kept for its status: arguments may be long scripts, and many. */
export function shortenCommand(cmd: readonly string[], maxLength: number): string[] {
  const kept: string[] = [];
  let left = maxLength;
  for (const part of cmd) {
    if (left <= 0) return [...kept, "…"];
    kept.push(shorten(part, left));
    left -= part.length + 1;
  }
  return kept;
}

function shorten(text: string, maxLength = 64): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}
