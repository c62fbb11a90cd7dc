// Which files a query of `env/data/get` means: those with its words in their path, or those that fit it as a pattern.
import { setImmediate as nextTurn } from "node:timers/promises";
import { matchesSteps } from "../../../machinery/validation/wildcard-steps.ts";

type Matcher = (path: string) => boolean;

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

/** `*` and `?` stay within a folder, `**` takes any number of them. */
function createMatcher(query: string): Matcher {
  if (!/[*?]/.test(query)) return (path) => path.includes(query);
  const segments = query.replace(/^\.?\//, "").split("/");
  // `*.csv` means those in folders as well, as people who write it expect.
  const steps = segments.length === 1 ? ["**", ...segments] : segments;
  return (path) => matchesSteps(path.split("/"), steps, isDeep, fitsSegment);
}

function isDeep(step: string): boolean {
  return step === "**";
}

function fitsSegment(step: string, segment: string): boolean {
  return matchesSteps(segment, step, isStar, (sign, character) => sign === "?" || sign === character);
}

function isStar(sign: string): boolean {
  return sign === "*";
}
