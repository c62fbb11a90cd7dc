import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import { createExpressionParser, isTrue, type Scope } from "./expression.ts";
import { Work } from "./work.ts";

const parse = createExpressionParser();

const values: JsonObject = {
  read: { text: "hello", lines: [{ n: 1 }, { n: 5 }], data: { own: true } },
  plain: { value: 3 },
  list: [{ path: "a" }, { path: "b" }],
  "step-1": { x: 9 },
  input: { files: ["x", "y"] },
  count: 4,
  empty: null,
};
const nodes = ["read", "plain", "list", "step-1"];
const scope: Scope = {
  work: new Work(),
  get: (name) => (Object.hasOwn(values, name) ? values[name] : undefined),
  isNode: (name) => nodes.includes(name),
  all: () => values,
};

function evaluate(text: string): JsonValue {
  scope.work.begin();
  return parse(text, scope.isNode).evaluate(scope);
}

describe("an expression", () => {
  test.each<[text: string, value: JsonValue]>([
    // Paths of the SDK.
    ["$.read.text", "hello"],
    ["$.read.lines.1.n", 5],
    ["$.count", 4],
    ["$.step-1.x", 9],
    ["$.nobody.at.all", null],
    // JMESPath of the documentation.
    ["read.text", "hello"],
    ["step-1.x", 9],
    ["input.files[0]", "x"],
    ["length(input.files)", 2],
    ["list[*].path", ["a", "b"]],
    ["read.lines[?n > `3`].n | [0]", 5],
    ["$.read.lines[?n == `1`].n", [1]],
    ["{first: list[0].path, count: count}", { first: "a", count: 4 }],
    ["let $c = count in read.lines[?n > $c].n", [5]],
    // The whole output of a node, by either of its names, unless it has a field of that name.
    ["plain.data.value", 3],
    ["plain.output", { value: 3 }],
    ["{all: length(keys($)), value: plain.data.value}", { all: 7, value: 3 }],
    ["list.data[0].path", "a"],
    ["list.output[*].path", ["a", "b"]],
    ["$.list.data[1].path", "b"],
    ["read.data.own", true],
    ["list[?path == 'b' && $.plain.data.value == 3].path", ["b"]],
    // Literals.
    ["'/x'", "/x"],
    ['`{"a": [1]}`', { a: [1] }],
    ["17", 17],
    ["-1.5", -1.5],
    ["true", true],
    ["null", null],
    // Words and bare operands.
    ["empty OR 'fallback'", "fallback"],
    ["nothing OR plain.value OR count", 3],
    ["count == 4 AND plain.value < 10", true],
    ["NOT empty", true],
    ["count >= 5", false],
    ["5 <= count", false],
    ['read.text == "hello"', true],
    ["read.text != 'OR'", true],
    ["'a OR b'", "a OR b"],
    ["count == true", false],
    ['list[?path == "a"] | length(@)', 1],
  ])("%s is %j", (text, value) => {
    expect(evaluate(text)).toEqual(value);
  });

  test.each([
    ["a ||", "syntax"],
    ["a[", "syntax"],
    ["a b c", "syntax"],
    ["nofunction(a)", "unknown function nofunction()"],
    ["'unclosed", "a quote is not closed"],
    ["", "syntax"],
    [`${"a.".repeat(3000)}a`, "longer than"],
  ])("%s is rejected", (text, why) => {
    expect(() => parse(text, scope.isNode)).toThrow(why === "syntax" ? /./ : why);
  });

  test.each<[text: string, names: string[]]>([
    ["$.a.b", ["a"]],
    ["a.b.c[0] || d", ["a", "d"]],
    ["a[?b == c].d", ["a"]],
    ["a[?b == $.c.x].d", ["a", "c"]],
    ["map(&name, a.items)", ["a"]],
    ["a.data | b", ["a"]],
    ["$.a[0].b", ["a"]],
    ["'a.b'", []],
    ["$", []],
    ["keys(@)", []],
    ["{all: keys($), text: read.text, value: plain.data.value}", ["read", "plain"]],
  ])("%s reads %j", (text, names) => {
    expect(parse(text, () => false).names).toEqual(names);
  });

  test("reads only JSON values", () => {
    for (const text of ["plain.constructor", "plain.__proto__", "$.plain.toString", "list.constructor", "plain[0].x"])
      expect(["null", "{}"]).toContain(JSON.stringify(evaluate(text)));
  });
});

test("0, empty and missing values are false; all other values are true", () => {
  expect([null, false, 0, "", [], {}].map(isTrue)).toEqual([false, false, false, false, false, false]);
  expect([true, 1, -1, "0", [0], { a: null }].map(isTrue)).toEqual([true, true, true, true, true, true]);
});
