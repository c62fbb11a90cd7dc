import fc from "fast-check";
import { expect, test } from "vitest";
import { createTextLineSplitter } from "./text-lines.ts";

function split(chunks: readonly string[], maxLineLength = 100) {
  const lines: string[] = [];
  let tooLong = 0;
  const splitter = createTextLineSplitter({
    maxLineLength,
    onLine: (line) => void lines.push(line),
    onTooLong: () => void tooLong++,
  });
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return { lines, tooLong };
}

test("lines are the same wherever the text is cut", () => {
  const text = '{"a":1}\n\n  \r\n{"b":"é\u2028"}\r\nnot json\n{"last":true}';
  const whole = split([text]);
  expect(whole.lines.map((line) => line.trim())).toEqual(['{"a":1}', '{"b":"é\u2028"}', "not json", '{"last":true}']);
  for (let cut = 0; cut <= text.length; cut++) expect(split([text.slice(0, cut), text.slice(cut)])).toEqual(whole);
  expect(split(text.split(""))).toEqual(whole);
});

test("any text in any pieces is split alike", () => {
  const texts = fc.string({ unit: fc.constantFrom("{", "}", "\n", "\r", " ", "x", "\ufeff") });
  fc.assert(
    fc.property(texts, fc.nat(40), (text, cut) => {
      expect(split([text.slice(0, cut), text.slice(cut)], 5)).toEqual(split([text], 5));
    }),
  );
});

test("a line past the limit is reported once and skipped", () => {
  const long = "x".repeat(101);
  expect(split([`${long}\n{"ok":1}\n`])).toEqual({ lines: ['{"ok":1}'], tooLong: 1 });
  expect(split([...long.repeat(5).split(""), '\n{"ok":1}\n'])).toEqual({ lines: ['{"ok":1}'], tooLong: 1 });
});
