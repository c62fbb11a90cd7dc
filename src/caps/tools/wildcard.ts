// Wildcards for tool names and file paths.
import { matchesSteps } from "../../machinery/validation/wildcard-steps.ts";

type Token = "star" | "one" | string | { isNegated: boolean; ranges: [string, string][] };

/** `*` any characters, `?` one, `[a-z]` one of a set, `[!a-z]` one not of it. */
function parseTokens(pattern: string): Token[] {
  const tokens: Token[] = [];
  const characters = [...pattern];
  for (let index = 0; index < characters.length; index++) {
    const character = characters[index] ?? "";
    if (character === "*") {
      if (tokens.at(-1) !== "star") tokens.push("star");
    } else if (character === "?") tokens.push("one");
    else if (character === "\\" && index + 1 < characters.length) tokens.push(`=${characters[++index]}`);
    else if (character === "[") {
      const end = characters.indexOf("]", index + 2);
      if (end < 0) tokens.push("=[");
      else {
        tokens.push(parseSet(characters.slice(index + 1, end)));
        index = end;
      }
    } else tokens.push(`=${character}`);
  }
  return tokens;
}

function parseSet(characters: string[]): Token {
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

function matchesOne(token: Token, character: string): boolean {
  if (token === "one") return true;
  if (typeof token === "string") return token.slice(1) === character;
  return token.ranges.some(([from, to]) => from <= character && character <= to) !== token.isNegated;
}

/** A matcher for names, in which `*` also takes separators. */
export function createWildcard(pattern: string): (name: string) => boolean {
  const tokens = parseTokens(pattern);
  return (name) => matchesTokens(tokens, name);
}

function matchesTokens(tokens: readonly Token[], text: string): boolean {
  return matchesSteps([...text], tokens, (token) => token === "star", matchesOne);
}

const maxAlternatives = 64;

/** A matcher for paths with `/`: `*` stays within a segment, `**` takes any number of them, `{a,b}` is either. */
export function createPathWildcard(pattern: string): (path: string) => boolean {
  const alternatives = [...new Set(expandBraces(pattern))].map((alternative) =>
    alternative
      .split("/")
      .filter((segment) => segment !== "" && segment !== ".")
      .map((segment) => (segment === "**" ? "any" : parseTokens(segment))),
  );
  return (path) => {
    const segments = path.split("/");
    return alternatives.some((steps) =>
      matchesSteps(
        segments,
        steps,
        (step) => step === "any",
        (step, segment) => step !== "any" && matchesTokens(step, segment),
      ),
    );
  };
}

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

/** Expands the first innermost group; `{}` and groups without a comma stand for themselves once. */
function expandFirst(pattern: string): string[] {
  const group = /\{([^{}]*,[^{}]*)\}/.exec(pattern);
  if (group === null) return [pattern];
  const before = pattern.slice(0, group.index);
  const after = pattern.slice(group.index + group[0].length);
  return (group[1] ?? "").split(",").map((choice) => `${before}${choice}${after}`);
}
