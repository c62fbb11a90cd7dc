import fc from "fast-check";
import { expect, test } from "vitest";
import { cutText, isLargerThan } from "./json-size.ts";

test("the measure is near the size of the JSON", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const bytes = Buffer.byteLength(JSON.stringify(value));
      expect(isLargerThan(value, bytes * 9 + 16)).toBe(false);
      if (bytes > 100) expect(isLargerThan(value, Math.floor(bytes / 7) - 2)).toBe(true);
    }),
  );
});

test("bytes are counted, however many characters they are and however many texts", () => {
  const texts = (text: string) => Array.from({ length: 1000 }, () => ({ [text]: text }));
  for (const text of ["word", "wörter", "単語", "🙂"]) {
    const bytes = Buffer.byteLength(JSON.stringify(texts(text)));
    expect(isLargerThan(texts(text), bytes * 1.1), text).toBe(false);
    expect(isLargerThan(texts(text), bytes * 0.95), text).toBe(true);
  }
});

test("cycles and deep nesting count as too large", () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  expect(isLargerThan(cycle, 1e9)).toBe(true);
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level++) deep = [deep];
  expect(isLargerThan(deep, 1e9)).toBe(true);
});

test("a cut text fits, is a beginning, and cuts no character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 50 }), fc.nat(60), (text, maxBytes) => {
      const cut = cutText(text, maxBytes);
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(maxBytes);
      expect(text.startsWith(cut)).toBe(true);
      if (Buffer.byteLength(text) <= maxBytes) expect(cut).toBe(text);
    }),
  );
});
