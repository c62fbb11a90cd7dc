import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLineSplitter } from "./ndjson.ts";

/** Any UTF-16 code unit, halves of pairs included. */
const codeUnit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));

const encoder = new TextEncoder();

interface SplitOptions {
  maxLineBytes?: number;
  /** The positions, in bytes, at which the stream is cut. */
  cuts?: readonly number[];
  isEnded?: boolean;
}

/** Lines as text, in order, with `null` for each report of a line that was too long. */
function split(stream: string | Uint8Array, { maxLineBytes = 1000, cuts = [], isEnded = true }: SplitOptions = {}) {
  const seen: (string | null)[] = [];
  const splitter = createLineSplitter({
    maxLineBytes,
    onLine: (line) => seen.push(line),
    onTooLong: () => seen.push(null),
  });
  const bytes = typeof stream === "string" ? encoder.encode(stream) : stream;
  const memory = new Uint8Array(bytes.length);
  let start = 0;
  for (const end of [...cuts, bytes.length]) {
    // A stream that reuses its memory: the chunk is overwritten once `push` has returned.
    memory.set(bytes.subarray(start, end));
    splitter.push(memory.subarray(0, end - start));
    memory.fill(0x58);
    start = end;
  }
  if (isEnded) splitter.end();
  return seen;
}

describe("the line splitter", () => {
  const stream = '{"a":"é"}\n\n{"b":"😀"}\r\n  \r\n\u2028{"c":"\u2028"}\n{"last":1}';
  const lines = ['{"a":"é"}', '{"b":"😀"}', '{"c":"\u2028"}', '{"last":1}'];

  test("gives the same lines wherever the stream is cut, inside a character too", () => {
    const { length } = encoder.encode(stream);
    expect(split(stream)).toEqual(lines);
    for (let first = 0; first <= length; first++) {
      for (let second = first; second <= length; second++)
        expect(split(stream, { cuts: [first, second] })).toEqual(lines);
    }
  });

  test("gives the same lines byte by byte", () => {
    const { length } = encoder.encode(stream);
    expect(split(stream, { cuts: Array.from({ length }, (_, index) => index) })).toEqual(lines);
  });

  test("any lines arrive whole for any cuts", () => {
    const line = fc.string({ unit: codeUnit }).map((text) => JSON.stringify(text));
    const cuts = fc.array(fc.nat(), { maxLength: 20 });
    fc.assert(
      fc.property(fc.array(line), cuts, fc.constantFrom("\n", "\r\n", "\n\n"), (sent, places, end) => {
        const bytes = encoder.encode(sent.map((text) => text + end).join(""));
        const sorted = places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b);
        // Lone surrogates have no UTF-8: the encoder itself replaces them.
        const expected = sent.map((text) => new TextDecoder().decode(encoder.encode(text)));
        expect(split(bytes, { cuts: sorted, maxLineBytes: 1e6 })).toEqual(expected);
      }),
    );
  });

  test("a line that is too long is reported once and the next line is intact, for any cuts", () => {
    const bad = `${"x".repeat(11)}\nnext\n${"y".repeat(40)}\r\nlast`;
    for (let first = 0; first <= bad.length; first++) {
      for (let second = first; second <= bad.length; second++)
        expect(split(bad, { cuts: [first, second], maxLineBytes: 10 })).toEqual([null, "next", null, "last"]);
    }
  });

  test("the limit counts bytes, and a line of exactly that many passes", () => {
    expect(split("éé\n", { maxLineBytes: 4 })).toEqual(["éé"]);
    expect(split("ééx\n", { maxLineBytes: 4 })).toEqual([null]);
    expect(split("éé\n", { maxLineBytes: 4, cuts: [1, 3] })).toEqual(["éé"]);
  });

  test("a line that is too long is reported before its newline arrives", () => {
    expect(split("x".repeat(11), { maxLineBytes: 10, isEnded: false })).toEqual([null]);
  });

  test("the end counts as the end of a line, once", () => {
    expect(split("a\nb", { isEnded: false })).toEqual(["a"]);
    expect(split("a\nb")).toEqual(["a", "b"]);
    expect(split("a\nb\n")).toEqual(["a", "b"]);
    expect(split("")).toEqual([]);
    expect(split("x".repeat(11), { maxLineBytes: 10 })).toEqual([null]);

    const seen: string[] = [];
    const splitter = createLineSplitter({ maxLineBytes: 10, onLine: (line) => seen.push(line), onTooLong: () => {} });
    splitter.push(encoder.encode("a"));
    splitter.end();
    splitter.end();
    expect(seen).toEqual(["a"]);
  });

  test("a byte order mark is not part of the first line", () => {
    expect(split('\ufeff{"a":1}\n{"b":"\ufeff"}\n')).toEqual(['{"a":1}', '{"b":"\ufeff"}']);
  });

  test("invalid UTF-8 becomes replacement characters and affects no other line", () => {
    expect(split(new Uint8Array([0x22, 0xff, 0xc3, 0x22, 0x0a, 0x31, 0x0a]))).toEqual(['"\ufffd\ufffd"', "1"]);
  });

  test("a long line in many pieces is put together once, not copied for each", () => {
    const pieces = 20_000;
    const cuts = Array.from({ length: pieces }, (_, index) => index * 50);
    const text = "0123456789".repeat(pieces * 5);
    expect(split(`${text}\nnext`, { cuts, maxLineBytes: 1e7 })).toEqual([text, "next"]);
  });

  test("chunks of a Buffer are copied as well, though its own slice would be a view", () => {
    const seen: string[] = [];
    const splitter = createLineSplitter({ maxLineBytes: 100, onLine: (line) => seen.push(line), onTooLong: () => {} });
    const chunk = Buffer.from("first\nsec");
    splitter.push(chunk);
    chunk.fill("X");
    splitter.push(Buffer.from("ond\n"));
    expect(seen).toEqual(["first", "second"]);
  });
});
