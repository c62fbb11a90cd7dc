// A text of YAML as a value, with the place of everything in it. JSON is read too: YAML contains it.
import type { CST, Document, LineCounter, YAMLError } from "yaml";
import { ConfigError, type ConfigPath } from "./problem.ts";

/** Aliases of YAML multiply; a config that needs more copies than this is meant to fill the memory. */
const maxAliases = 100;
/** The parser recurses, and a text that exhausts its stack can end the whole process. */
const maxDepth = 64;

interface TextPlace {
  line: number;
  column: number;
}

interface YamlText {
  value: unknown;
  /** The position of a value or its key; for a missing value, the position of its section. */
  locate(path: ConfigPath, part: "key" | "value"): TextPlace | undefined;
}

/** Rejects with a ConfigError that gives line and column, and never quotes the text: a secret may stand there. */
export async function parseYaml(text: string, source?: string): Promise<YamlText> {
  // Loading the parser takes longer than a host without a config file needs to start.
  const { LineCounter, Parser, isMap, parseDocument } = await import("yaml");
  const failure = (message: string, place?: TextPlace) => new ConfigError([{ path: "", message, ...place }], source);
  if (isDeeperThan(new Parser().parse(text), maxDepth)) throw failure(`nested deeper than ${maxDepth} levels`);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: "error" });
  const [error] = document.errors;
  if (error !== undefined) throw failure(explain(error, text), placeOf(lines, error.pos[0]));
  return {
    value: toValue(document, failure),
    locate(path, part) {
      const section = document.getIn(path.slice(0, -1), true);
      const key = isMap(section)
        ? section.items.find((pair) => String(pair.key) === String(path.at(-1)))?.key
        : undefined;
      const offset = rangeStart(part === "key" ? key : undefined) ?? valueStart(document, path);
      return offset === undefined ? undefined : placeOf(lines, offset);
    },
  };
}

/** Walks with a stack of its own, so that no depth is too deep for it. */
function isDeeperThan(tokens: Iterable<CST.Token>, limit: number): boolean {
  const open = Array.from(tokens, (token) => ({ token, depth: 0 }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { token, depth } = next;
    if (depth > limit) return true;
    const inner = token.type === "document" ? [token.value] : [];
    if ("items" in token) for (const item of token.items) inner.push(item.key ?? undefined, item.value);
    for (const child of inner) if (child !== undefined) open.push({ token: child, depth: depth + 1 });
  }
  return false;
}

function valueStart(document: Document, path: ConfigPath): number | undefined {
  for (let length = path.length; length >= 0; length--) {
    const start = rangeStart(length === 0 ? document.contents : document.getIn(path.slice(0, length), true));
    if (start !== undefined) return start;
  }
  return undefined;
}

function rangeStart(node: unknown): number | undefined {
  return (node as { range?: readonly number[] | null } | null | undefined)?.range?.[0];
}

function placeOf(lines: LineCounter, offset: number): TextPlace {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

function toValue(document: Document, failure: (message: string) => ConfigError): unknown {
  try {
    return document.toJS({ maxAliasCount: maxAliases });
  } catch {
    throw failure(`an alias (*name) has no anchor (&name) before it, or aliases make more than ${maxAliases} copies`);
  }
}

/** Words of our own, because the parser's may quote the text. */
const syntaxProblems: Partial<Record<YAMLError["code"], string>> = {
  BAD_ALIAS: "an alias needs the name of an anchor",
  BAD_DQ_ESCAPE: "unknown escape in a double-quoted text; single quotes keep backslashes as they are",
  BAD_INDENT: "the indentation does not fit the lines above, or a bracket is not closed",
  BAD_SCALAR_START: "a text that begins with this character must be quoted",
  BLOCK_AS_IMPLICIT_KEY: 'two settings on one line; a text that contains ": " must be quoted',
  BLOCK_IN_FLOW: "a block cannot stand within brackets",
  MISSING_CHAR: "a quote, comma, colon or space is missing",
  MULTILINE_IMPLICIT_KEY: 'a key must stand on one line and be followed by ": "',
  MULTIPLE_DOCS: "a config is a single document: remove the line --- or ...",
  TAB_AS_INDENT: "tabs cannot indent YAML; use spaces",
  UNEXPECTED_TOKEN: "unexpected text; is a quote or a line break missing before it?",
};

function explain(error: YAMLError, text: string): string {
  if (error.code !== "DUPLICATE_KEY") return syntaxProblems[error.code] ?? `not valid YAML (${error.code})`;
  const key = /^"?([\w.-]{1,64})/.exec(text.slice(error.pos[0], error.pos[0] + 66))?.[1];
  return key === undefined ? "the same key stands here twice" : `the key "${key}" stands here twice`;
}
