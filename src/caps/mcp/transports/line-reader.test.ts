import { PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { LineReader } from "./line-reader.ts";

function read(options: { maxLineBytes?: number; maxLinesPerTurn?: number; maxUnreadable?: number } = {}) {
  const stream = new PassThrough();
  const messages: unknown[] = [];
  const problems: string[] = [];
  const fatal: string[] = [];
  const reader = new LineReader(stream, {
    maxLineBytes: 1000,
    maxLinesPerTurn: 4,
    maxUnreadable: 3,
    ...options,
    onMessage: (message) => messages.push(message),
    onProblem: ({ message }) => problems.push(message),
    onFatal: ({ message }) => fatal.push(message),
  });
  const done = new Promise<void>((resolve) => reader.finish(resolve));
  return { stream, messages, problems, fatal, done };
}

const toLine = (message: object) => `${JSON.stringify(message)}\n`;

test("messages arrive whole and in order, however the stream is divided into chunks", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string(), { maxLength: 30 }), fc.array(fc.nat(200)), async (texts, cuts) => {
      const { stream, messages, done } = read({ maxLineBytes: 100_000 });
      const sent = texts.map((text, id) => ({ id, method: text }));
      const bytes = Buffer.from(sent.map(toLine).join(""));
      const ends = [...new Set(cuts.map((cut) => Math.min(cut, bytes.length)))].sort((one, other) => one - other);
      let from = 0;
      for (const end of [...ends, bytes.length]) {
        stream.write(bytes.subarray(from, end));
        from = end;
      }
      stream.end();
      await done;
      expect(messages).toEqual(sent);
    }),
    { numRuns: 50 },
  );
});

test("after maxLinesPerTurn lines, the reader yields to other work", async () => {
  const { stream, messages, done } = read();
  await new Promise(setImmediate);
  stream.write(Array.from({ length: 10 }, (_, id) => toLine({ id, result: {} })).join(""));

  expect(messages).toHaveLength(4);
  await new Promise(setImmediate);
  expect(messages).toHaveLength(8);

  stream.end();
  await done;
  expect(messages).toHaveLength(10);
});

test("consecutive lines that are not messages are reported once, and too many of them are fatal", async () => {
  const { stream, messages, problems, fatal } = read({ maxLinesPerTurn: 100 });
  await new Promise(setImmediate);

  stream.write(`hello\n\n[]\n${toLine({ method: "a" })}null\n"text"\n{"jsonrpc":"2.0"}\n`);
  expect({ messages: messages.length, problems: problems.length, fatal }).toEqual({
    messages: 1,
    problems: 2,
    fatal: [],
  });
  stream.write(`{"a":\n${toLine({ method: "too late" })}`);

  expect(fatal).toHaveLength(1);
  expect(messages).toHaveLength(1);
});

test.each([
  ["in one piece", 2000],
  ["in many", 90],
])("a line beyond the limit is fatal, %s", (_, size) => {
  const { stream, messages, fatal } = read();

  for (let sent = 0; sent < 2000; sent += size) stream.write("x".repeat(size));
  stream.write(`\n${toLine({ method: "too late" })}`);

  expect(fatal).toEqual(["a message is longer than 1000 bytes"]);
  expect(messages).toEqual([]);
});

test("a batch of revision 2025-03-26 is delivered as single messages", async () => {
  const { stream, messages, problems, done } = read();

  stream.end(`${JSON.stringify([{ id: 1, result: {} }, { method: "a" }])}\n[1]\n`);
  await done;

  expect(messages).toEqual([{ id: 1, result: {} }, { method: "a" }]);
  expect(problems).toHaveLength(1);
});
