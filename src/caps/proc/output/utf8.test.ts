import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeBytes, incompleteTail } from "./utf8.ts";

/** Characters of one to four bytes. */
const character = fc.constantFrom("a", "\0", "é", "€", "\u2028", "😀", "\u{10ffff}");

test("text cut at any byte is complete up to the reported tail, and nothing is lost", () => {
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 20 }), fc.nat(60), (text, cut) => {
      const bytes = Buffer.from(text);
      const head = bytes.subarray(0, cut);
      const complete = head.subarray(0, head.length - incompleteTail(head));
      expect(head.length - complete.length).toBeLessThanOrEqual(3);
      expect(encodeBytes(complete).base64).toBeUndefined();
    }),
  );
});

test("bytes that are not text are returned exactly", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const { text, base64 } = encodeBytes(Buffer.from(bytes));
      expect(base64 === undefined ? Buffer.from(text ?? "") : Buffer.from(base64, "base64")).toEqual(
        Buffer.from(bytes),
      );
    }),
  );
});

test("a byte that cannot begin a character is not held back", () => {
  for (const bytes of [[0xff], [0x80], [0xc0], [0x61, 0xf8], [0xe2, 0x82, 0xac], [0xbf, 0xbf, 0xbf, 0xbf]])
    expect(incompleteTail(Buffer.from(bytes))).toBe(0);
  expect(incompleteTail(Buffer.from([0x61, 0xf0, 0x9f, 0x98]))).toBe(3);
});
