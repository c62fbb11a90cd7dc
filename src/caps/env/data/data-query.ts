// Which files a query of `env/data/get` means: those with its words in their path, or those that fit it as a pattern.
import { setImmediate as nextTurn } from "node:timers/promises";
import { createPathWildcard } from "../../../machinery/validation/wildcard.ts";

/** Compared in one turn: a query comes from outside, and comparing long paths with a long one takes its time. */
const filesPerTurn = 100;

/** Those that match, in their order; in several turns where there are many. */
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

/** `*` and `?` stay within a folder, and `**` stands for any number of folders. */
function createMatcher(query: string): (path: string) => boolean {
  if (!/[*?]/.test(query)) return (path) => path.includes(query);
  const pattern = query.replace(/^\.?\//, "");
  // `*.csv` also means the files in folders, as people who write it expect.
  return createPathWildcard(pattern.includes("/") ? pattern : `**/${pattern}`, { questionMark: true });
}
