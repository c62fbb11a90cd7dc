import { expect, test } from "vitest";
import { fillPlaceholders } from "./placeholders.ts";

const known = new Set(["topic", "style"]);

test("arguments are filled in by name, and all of them by {args}", () => {
  const args = { topic: "tides", depth: 2, more: { a: 1 } };
  expect(fillPlaceholders("On {topic}:{style} {depth}\n{args}", known, args)).toBe(
    'On tides: 2\ntopic: tides\ndepth: 2\nmore: {\n  "a": 1\n}',
  );
});

test("an argument called args is that argument", () => {
  expect(fillPlaceholders("{args}", known, { args: "mine" })).toBe("mine");
});

test("other braces stay: instructions are full of code", () => {
  const text = "const { a } = b; {unknown} {} {{x}} {a: 1} {toString} {__proto__}";
  expect(fillPlaceholders(text, known, {})).toBe(text);
});

test("a value that looks like a placeholder, or like a replacement pattern, stays as it is", () => {
  expect(fillPlaceholders("{topic} {style}", known, { topic: "{style}", style: "$& $1" })).toBe("{style} $& $1");
});
