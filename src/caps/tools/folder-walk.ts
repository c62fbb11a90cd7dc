// Walks the folders of a workspace in a stable order. Links are reported, never followed.
import { readdir } from "node:fs/promises";
import { toReadableError, type Workspace } from "../../machinery/confinement/workspace.ts";
import { createPathWildcard } from "../../protocol/wildcards/wildcard.ts";
import { toolLimits } from "./limits.ts";

export interface FolderEntry {
  /** Below the root of the workspace. */
  readonly segments: readonly string[];
  readonly type: "file" | "folder" | "link" | "other";
}

interface WalkOptions {
  /** 1 lists only the folder itself. */
  maxDepth: number;
  /** Also enters folders that are rarely searched: `.git` and `node_modules`. */
  includeIgnored: boolean;
  signal?: AbortSignal;
}

const ignoredFolders: ReadonlySet<string> = new Set([".git", "node_modules"]);

/** A folder comes before its entries. Returns `true` if it stopped at a limit. */
export async function* walkFolder(
  workspace: Workspace,
  start: readonly string[],
  { maxDepth, includeIgnored, signal }: WalkOptions,
): AsyncGenerator<FolderEntry, boolean> {
  const pending: (readonly string[])[] = [start];
  let visited = 0;
  let isCut = false;
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    signal?.throwIfAborted();
    const inner: (readonly string[])[] = [];
    for (const entry of await readFolder(workspace, folder, folder === start)) {
      if (++visited > toolLimits.maxVisitedEntries) return true;
      yield entry;
      if (entry.type !== "folder") continue;
      if (!includeIgnored && ignoredFolders.has(entry.segments.at(-1) ?? "")) continue;
      const depth = entry.segments.length - start.length;
      if (depth < Math.min(maxDepth, toolLimits.maxFolderDepth)) inner.push(entry.segments);
      else isCut ||= depth >= toolLimits.maxFolderDepth;
    }
    // Pushed one by one: spreading a very large array would overflow the stack.
    for (const next of inner.reverse()) pending.push(next);
  }
  return isCut;
}

async function readFolder(workspace: Workspace, segments: readonly string[], isStart: boolean): Promise<FolderEntry[]> {
  try {
    const folder = await workspace.openFolder(segments);
    try {
      const entries = await readdir(folder.path, { withFileTypes: true });
      entries.sort((a, b) => (a.name < b.name ? -1 : 1));
      return entries.map((entry) => {
        const type = entry.isFile()
          ? "file"
          : entry.isDirectory()
            ? "folder"
            : entry.isSymbolicLink()
              ? "link"
              : "other";
        return { segments: [...segments, entry.name], type };
      });
    } finally {
      await folder.close();
    }
  } catch (error) {
    // A folder below that is gone or unreadable is skipped; an unreadable start folder is an error.
    if (isStart) throw toReadableError(error, segments.join("/"));
    return [];
  }
}

/** Returns a function that says whether a path fits a pattern such as `docs/*.{md,txt}`. */
export function createFileWildcard(pattern: string): (path: string) => boolean {
  return createPathWildcard(pattern, { questionMark: true, sets: true, braces: true, normalize: true });
}
