// Patterns with wildcards, for names and for paths. `*` matches any characters in all of them; the options enable other
// wildcards. Every other character matches itself. No pattern is slow: see wildcard-steps.ts.
import { matchesSteps } from "./wildcard-steps.ts";

export interface WildcardOptions {
  /** `?` matches a single character. Without this it matches itself, as in URLs, which often contain it. */
  readonly questionMark?: boolean;
  /** `[a-z]` matches a character of a set, `[!a-z]` a character outside of it, and `\*` a star. */
  readonly sets?: boolean;
}

export interface PathWildcardOptions extends WildcardOptions {
  /** `{a,b}` stands for `a` or `b`. */
  readonly braces?: boolean;
  /** `./a//b` is `a/b`. */
  readonly normalize?: boolean;
}

const star = Symbol("*");
const anyOne = Symbol("?");

interface CharacterSet {
  readonly isNegated: boolean;
  readonly ranges: readonly (readonly [string, string])[];
}

/** A string is a character that matches itself. */
type Token = typeof star | typeof anyOne | CharacterSet | string;

/** Returns a function that tests whether a whole text matches the pattern. `*` also matches `/`. */
export function createWildcard(pattern: string, options: WildcardOptions = {}): (text: string) => boolean {
  const tokens = parseTokens(pattern, options);
  return (text) => matchesTokens(tokens, text);
}

/** Returns the same for paths: `*` stays within a segment, and `**` stands for any number of segments. */
export function createPathWildcard(pattern: string, options: PathWildcardOptions = {}): (path: string) => boolean {
  const { braces = false, normalize = false } = options;
  const alternatives = [...new Set(braces ? expandBraces(pattern) : [pattern])].map((alternative) =>
    alternative
      .split("/")
      .filter((segment) => !normalize || (segment !== "" && segment !== "."))
      .map((segment) => (segment === "**" ? star : parseTokens(segment, options))),
  );
  return (path) => {
    const segments = path.split("/");
    return alternatives.some((steps) =>
      matchesSteps(
        segments,
        steps,
        (step) => step === star,
        (step, segment) => step !== star && matchesTokens(step, segment),
      ),
    );
  };
}

function parseTokens(pattern: string, { questionMark = false, sets = false }: WildcardOptions): Token[] {
  const tokens: Token[] = [];
  const characters = [...pattern];
  for (let index = 0; index < characters.length; index++) {
    const character = characters[index] as string;
    const setEnd = sets && character === "[" ? characters.indexOf("]", index + 2) : -1;
    if (character === "*") {
      if (tokens.at(-1) !== star) tokens.push(star);
    } else if (questionMark && character === "?") tokens.push(anyOne);
    else if (setEnd >= 0) {
      tokens.push(parseSet(characters.slice(index + 1, setEnd)));
      index = setEnd;
    } else if (sets && character === "\\" && index + 1 < characters.length) tokens.push(characters[++index] as string);
    else tokens.push(character);
  }
  return tokens;
}

function parseSet(characters: readonly string[]): CharacterSet {
  const isNegated = characters[0] === "!" || characters[0] === "^";
  const ranges: [string, string][] = [];
  for (let index = isNegated ? 1 : 0; index < characters.length; index++) {
    const from = characters[index] ?? "";
    const to = characters[index + 1] === "-" ? characters[index + 2] : undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) index += 2;
  }
  return { isNegated, ranges };
}

function matchesTokens(tokens: readonly Token[], text: string): boolean {
  return matchesSteps([...text], tokens, (token) => token === star, matchesOne);
}

function matchesOne(token: Token, character: string): boolean {
  if (typeof token !== "object") return token === character || token === anyOne;
  return token.ranges.some(([from, to]) => from <= character && character <= to) !== token.isNegated;
}

const maxAlternatives = 64;

function expandBraces(pattern: string): string[] {
  let open: string[] = [pattern];
  for (;;) {
    const expanded = open.flatMap(expandFirst);
    if (expanded.length > maxAlternatives)
      throw new Error(`the pattern has more than ${maxAlternatives} alternatives in braces`);
    if (expanded.length === open.length && expanded.every((text, index) => text === open[index])) return expanded;
    open = expanded;
  }
}

/** Expands the first innermost group; `{}` and groups without a comma stand for themselves. */
function expandFirst(pattern: string): string[] {
  const group = /\{([^{}]*,[^{}]*)\}/.exec(pattern);
  if (group === null) return [pattern];
  const before = pattern.slice(0, group.index);
  const after = pattern.slice(group.index + group[0].length);
  return (group[1] ?? "").split(",").map((choice) => `${before}${choice}${after}`);
}
