import fc from "fast-check";
import { expect, test } from "vitest";
import { KeeperWord } from "./terminal-keeper.ts";

function takeAll(chunks: readonly Buffer[]) {
  const word = new KeeperWord("token");
  const output: Buffer[] = [];
  for (const chunk of chunks) {
    const { output: some, end } = word.take(chunk);
    output.push(some);
    if (end !== undefined) return { output: Buffer.concat(output), end };
  }
  return { output: Buffer.concat([...output, word.flush()]), end: undefined };
}

/** The text divided at these positions. */
function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (const size of sizes) {
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return [...chunks, bytes.subarray(at)];
}

const sizes = fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 40 });
const reports = fc.constantFrom("", "[1] + Done(143)", "[1]+  Terminated   ", "x".repeat(40));
/** Text that often resembles the keeper's message. */
const output = fc.array(
  fc.constantFrom("\x1b", "\x1b]", "\x1b]a2e;", "\x1b]a2e;toke", "\x1b]a2e;token;", "x", "\x07", "€"),
  {
    maxLength: 12,
  },
);

test("the keeper's message is found and removed, however the output is divided into chunks", () => {
  fc.assert(
    fc.property(output, fc.integer({ min: 0, max: 255 }), reports, sizes, (parts, code, report, lengths) => {
      const written = Buffer.from(parts.join(""));
      const whole = Buffer.concat([written, Buffer.from(`\x1b]a2e;token;${code};${report}\x07\x1b[0m after`)]);
      expect(takeAll(cut(whole, lengths))).toEqual({ output: written, end: { code, report } });
    }),
  );
});

test("output without the keeper's message is passed on completely", () => {
  fc.assert(
    fc.property(output, sizes, (parts, lengths) => {
      const written = Buffer.from(parts.join(""));
      expect(takeAll(cut(written, lengths))).toEqual({ output: written, end: undefined });
    }),
  );
});

test("output is held back only if it may begin the keeper's message", () => {
  const word = new KeeperWord("token");
  expect(word.take(Buffer.from("prompt> ")).output.toString()).toBe("prompt> ");
  expect(word.take(Buffer.from("\x1b[0m")).output.toString()).toBe("\x1b[0m");
  expect(word.take(Buffer.from("\x1b]0;title\x07")).output.toString()).toBe("\x1b]0;title\x07");
});
