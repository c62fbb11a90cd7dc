import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../protocol/json.ts";
import { CliError } from "../failure.ts";
import { parseFlags } from "./flags.ts";
import { toArguments } from "./tool-arguments.ts";

const schema: JsonObject = {
  type: "object",
  additionalProperties: false,
  properties: {
    path: { type: "string" },
    max_bytes: { type: "integer" },
    share: { type: "number" },
    recursive: { type: "boolean" },
    tags: { type: "array", items: { type: "string" } },
    sizes: { type: "array", items: { type: "integer" } },
    filter: { type: "object" },
    mode: { enum: ["fast", "slow"] },
    limit: { anyOf: [{ type: "integer" }, { type: "null" }] },
    label: { type: ["string", "null"] },
    anything: {},
  },
};

const files: Record<string, string> = { "notes.txt": "from a file", "list.json": '["x", "y"]', "-": "from stdin" };

function readText(path: string): string {
  const text = files[path];
  if (text === undefined) throw new Error("no such file");
  return text;
}

function read(...words: string[]): JsonObject {
  return toArguments(
    parseFlags(words, () => {}),
    schema,
    readText,
  );
}

describe("a value is read as the schema wants it", () => {
  test.each([
    [["--path", "42"], { path: "42" }],
    [["--path", "@notes.txt"], { path: "from a file" }],
    [["--path", "@-"], { path: "from stdin" }],
    [["--path", "@@home"], { path: "@home" }],
    [["--max_bytes", "42"], { max_bytes: 42 }],
    [["--max-bytes", "42"], { max_bytes: 42 }],
    [["--share", "-0.5"], { share: -0.5 }],
    [["--recursive"], { recursive: true }],
    [["--no-recursive"], { recursive: false }],
    [["--recursive", "false"], { recursive: false }],
    [["--tags", "a", "--tags", "b"], { tags: ["a", "b"] }],
    [["--tags", '["a", "b"]', "--tags", "c"], { tags: ["a", "b", "c"] }],
    [["--tags", "@list.json"], { tags: ["x", "y"] }],
    [["--tags", "7"], { tags: ["7"] }],
    [["--sizes", "7"], { sizes: [7] }],
    [["--filter", '{"a": 1}'], { filter: { a: 1 } }],
    [["--mode", "fast"], { mode: "fast" }],
    [["--limit", "null"], { limit: null }],
    [["--limit", "3"], { limit: 3 }],
    [["--label", "null"], { label: null }],
    [["--label", "3"], { label: "3" }],
    [["--anything", "[1]"], { anything: [1] }],
    [["--anything", "just words"], { anything: "just words" }],
  ])("%j", (words, expected) => {
    expect(read(...words)).toEqual(expected);
  });
});

describe("a value that cannot be read is a usage error, and the message names the right form", () => {
  test.each([
    [["--max_bytes", "many"], /--max_bytes: expected integer, found "many"/],
    [["--max_bytes", "1.5"], /expected integer/],
    [["--recursive", "perhaps"], /expected boolean/],
    [["--path"], /--path needs a value: string/],
    [["--tags"], /needs a value: an item, repeated for more, or a JSON array/],
    [["--filter", "[1]"], /expected object/],
    [["--path", "@gone.txt"], /gone\.txt cannot be read; write @@gone\.txt/],
    [["--pth", "x"], /no argument "pth"; did you mean --path\?/],
    [["--no-such", "x"], /no argument "no-such"/],
    [["--__proto__", "x"], /no argument "__proto__"/],
    [["--constructor", "x"], /no argument "constructor"/],
  ])("%j", (words, message) => {
    expect(() => read(...words)).toThrow(message);
    expect(() => read(...words)).toThrow(CliError);
  });
});

test("a tool without a schema of its arguments takes any", () => {
  expect(toArguments([{ name: "x", value: "1" }], {}, readText)).toEqual({ x: 1 });
  expect(toArguments([{ name: "x", value: "1" }], { additionalProperties: true }, readText)).toEqual({ x: 1 });
});

test("for any schema of a host, arguments are read or refused without an exception", () => {
  const anySchema = fc.dictionary(
    fc.constantFrom("type", "properties", "items", "enum", "anyOf", "additionalProperties"),
    fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom("a", "b"), fc.jsonValue())),
  );
  fc.assert(
    fc.property(
      anySchema,
      fc.array(fc.tuple(fc.constantFrom("a", "b", "no-a"), fc.option(fc.string(), { nil: undefined }))),
      (hostile, pairs) => {
        try {
          toArguments(
            pairs.map(([name, value]) => ({ name, value })),
            hostile as JsonObject,
            readText,
          );
        } catch (error) {
          expect(error).toBeInstanceOf(CliError);
        }
      },
    ),
  );
});
