// The part of grep that runs in a worker.
import { constants } from "node:fs";
import { Workspace } from "../../../machinery/confinement/workspace.ts";
import type { WorkerContext } from "../../../machinery/threads/worker-entry.ts";
import { createFileWildcard, walkFolder } from "../folder-walk.ts";
import { toolLimits } from "../limits.ts";

export interface GrepArguments {
  root: string;
  start: string[];
  pattern: string;
  glob: string;
  ignore_case: boolean;
  context: number;
  max_results: number;
  include_ignored: boolean;
}

interface GrepMatch {
  [field: string]: string | number | string[];
  path: string;
  line: number;
  text: string;
}

export interface GrepResult {
  matches: GrepMatch[];
  truncated: boolean;
}

export async function grepFiles(args: GrepArguments, { signal }: WorkerContext): Promise<GrepResult> {
  const workspace = new Workspace(args.root);
  const expression = toExpression(args.pattern, args.ignore_case);
  const isWanted = args.glob === "" ? () => true : createFileWildcard(args.glob);
  const matches: GrepMatch[] = [];
  let room: number = toolLimits.maxSearchBytes;
  /** True if there are more matches than may be returned. */
  const searchFile = async (segments: readonly string[]): Promise<boolean> => {
    const text = await readText(workspace, segments);
    if (text === undefined) return false;
    for (const match of matchesIn(segments.join("/"), text, expression, args.context)) {
      room -= Buffer.byteLength(JSON.stringify(match));
      if (matches.length >= args.max_results || room < 0) return true;
      matches.push(match);
    }
    return false;
  };

  if (await isFile(workspace, args.start)) return { truncated: await searchFile(args.start), matches };
  const options = { maxDepth: toolLimits.maxFolderDepth, includeIgnored: args.include_ignored, signal };
  const walk = walkFolder(workspace, args.start, options);
  for (let step = await walk.next(); ; step = await walk.next()) {
    if (step.done) return { matches, truncated: step.value };
    const { segments, type } = step.value;
    if (type !== "file" || !isWanted(segments.slice(args.start.length).join("/"))) continue;
    if (await searchFile(segments)) return { matches, truncated: true };
  }
}

/** Unicode mode if the pattern allows it: patterns with unnecessary escapes are valid only without it. */
function toExpression(pattern: string, ignoreCase: boolean): RegExp {
  const flags = ignoreCase ? "i" : "";
  try {
    return new RegExp(pattern, `u${flags}`);
  } catch {
    return new RegExp(pattern, flags);
  }
}

async function isFile(workspace: Workspace, segments: string[]): Promise<boolean> {
  if (segments.length === 0) return false;
  const file = await workspace.openFile(segments, constants.O_RDONLY).catch(() => undefined);
  await file?.close();
  return file !== undefined;
}

/** Undefined for a file that is not searched: binary, too large, or gone. */
async function readText(workspace: Workspace, segments: readonly string[]): Promise<string | undefined> {
  const file = await workspace.openFile(segments, constants.O_RDONLY).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    if ((await file.stat()).size > toolLimits.maxSearchedFileBytes) return undefined;
    const bytes = await file.readFile();
    return bytes.includes(0) ? undefined : bytes.toString("utf8");
  } finally {
    await file.close();
  }
}

function* matchesIn(path: string, text: string, expression: RegExp, context: number): Generator<GrepMatch> {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  for (const [index, line] of lines.entries()) {
    if (!expression.test(line)) continue;
    const match: GrepMatch = { path, line: index + 1, text: shorten(line) };
    if (context > 0) {
      match.before = lines.slice(Math.max(0, index - context), index).map(shorten);
      match.after = lines.slice(index + 1, index + 1 + context).map(shorten);
    }
    yield match;
  }
}

function shorten(line: string): string {
  return line.length > toolLimits.maxShownLineLength ? `${line.slice(0, toolLimits.maxShownLineLength)}…` : line;
}
