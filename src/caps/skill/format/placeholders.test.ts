import { expect, test } from "vitest";
import { fillPlaceholders } from "./placeholders.ts";

const known = new Set(["topic", "style"]);

test("placeholders are replaced by the arguments of that name, and {args} by all arguments", () => {
  const args = { topic: "tides", depth: 2, more: { a: 1 } };
  expect(fillPlaceholders("On {topic}:{style} {depth}\n{args}", known, args)).toBe(
    'On tides: 2\ntopic: tides\ndepth: 2\nmore: {\n  "a": 1\n}',
  );
});

test("an argument called args takes precedence over all arguments", () => {
  expect(fillPlaceholders("{args}", known, { args: "mine" })).toBe("mine");
});

test("other braces stay as they are, since instructions contain code", () => {
  const text = "const { a } = b; {unknown} {} {{x}} {a: 1} {toString} {__proto__}";
  expect(fillPlaceholders(text, known, {})).toBe(text);
});

test("a value that looks like a placeholder, or like a replacement pattern, is not expanded", () => {
  expect(fillPlaceholders("{topic} {style}", known, { topic: "{style}", style: "$& $1" })).toBe("{style} $& $1");
});
