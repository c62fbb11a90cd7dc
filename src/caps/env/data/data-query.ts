// Finds the files that a query of `env/data/get` matches: by substring, or by pattern if the query has `*` or `?`.
import { setImmediate as nextTurn } from "node:timers/promises";
import { createPathWildcard } from "../../../protocol/wildcards/wildcard.ts";

/** Files compared before other work gets a turn: comparing long paths with a long query takes time. */
const filesPerTurn = 100;

/** Returns the files that match, in their order. Yields to other work between blocks of files. */
export async function filterByQuery<File extends { readonly dest: string }>(
  files: readonly File[],
  query: string,
  signal: AbortSignal,
): Promise<File[]> {
  const matches = createMatcher(query);
  const found: File[] = [];
  for (const [at, file] of files.entries()) {
    if (at > 0 && at % filesPerTurn === 0) {
      await nextTurn();
      signal.throwIfAborted();
    }
    if (matches(file.dest)) found.push(file);
  }
  return found;
}

/** `*` and `?` match within a folder, `**` matches any number of folders. */
function createMatcher(query: string): (path: string) => boolean {
  if (!/[*?]/.test(query)) return (path) => path.includes(query);
  const pattern = query.replace(/^\.?\//, "");
  // `*.csv` also matches files in subfolders, as users expect.
  return createPathWildcard(pattern.includes("/") ? pattern : `**/${pattern}`, { questionMark: true });
}
