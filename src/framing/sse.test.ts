import fc from "fast-check";
import { expect, test } from "vitest";
import { createSseParser, formatSseEvent, keepAliveComment, type SseEvent } from "./sse.ts";

function parse(chunks: readonly (string | Uint8Array)[], maxDataLength = 1_000) {
  const events: SseEvent[] = [];
  const retries: number[] = [];
  let tooLong = 0;
  const parser = createSseParser({
    maxDataLength,
    onEvent: (event) => void events.push(event),
    onTooLong: () => void tooLong++,
    onRetry: (delayMs) => void retries.push(delayMs),
  });
  for (const chunk of chunks) parser.push(chunk);
  return { events, retries, tooLong };
}

const stream = [
  "\ufeff: greeting\n\n",
  'id: 1\ndata: {"a":1}\n\n',
  "id: 2\r\ndata: first\r\ndata:second\r\ndata\r\n\r\n",
  ": comment\rretry: 1500\rdata: é 🦜 漢\r\r",
  "event: other\nunknown: x\nid:3\ndata:  two spaces\n\n",
  "id: 9\n\n",
  "data: no id\n\n",
  "data: never finished",
].join("");

const expected: SseEvent[] = [
  { id: "1", data: '{"a":1}' },
  { id: "2", data: "first\nsecond\n" },
  { id: undefined, data: "é 🦜 漢" },
  { id: "3", data: " two spaces" },
  { id: undefined, data: "no id" },
];

test("fields, comments, line ends of all three kinds and a byte order mark are read", () => {
  expect(parse([stream])).toEqual({ events: expected, retries: [1500], tooLong: 0 });
});

test("a stream of bytes cut in two at any position reads the same", () => {
  const bytes = new TextEncoder().encode(stream);
  for (let cut = 0; cut <= bytes.length; cut++) {
    expect(parse([bytes.subarray(0, cut), bytes.subarray(cut)]).events, `cut at ${cut}`).toEqual(expected);
  }
});

test("a stream that comes byte by byte or character by character reads the same", () => {
  expect(parse(Array.from(new TextEncoder().encode(stream), (byte) => Uint8Array.of(byte))).events).toEqual(expected);
  expect(parse(stream.split("")).events).toEqual(expected);
});

test("formatted events are read back for any cuts", () => {
  fc.assert(
    fc.property(fc.array(fc.json(), { maxLength: 5 }), fc.array(fc.nat(400), { maxLength: 8 }), (values, cuts) => {
      const lines = values.map((value) => JSON.stringify({ value }));
      const text = lines.map((line, index) => formatSseEvent(index + 1, line) + keepAliveComment).join("");
      const places = [0, ...cuts.filter((cut) => cut < text.length).sort((one, other) => one - other), text.length];
      const chunks = places.slice(1).map((end, index) => text.slice(places[index], end));
      const { events } = parse(chunks, 1_000_000);
      expect(events.map(({ id, data }) => [id, JSON.parse(data)])).toEqual(
        values.map((value, index) => [String(index + 1), { value }]),
      );
    }),
  );
});

test("any text is accepted, and yields the same events in one piece and in two", () => {
  const texts = fc.string({
    unit: fc.constantFrom("data", "id", "retry", ":", " ", "\r", "\n", "x", "\0", "\u2028", "7"),
  });
  fc.assert(
    fc.property(texts, fc.nat(60), (text, cut) => {
      expect(parse([text.slice(0, cut), text.slice(cut)], 8).events).toEqual(parse([text], 8).events);
    }),
  );
});

test("formatted events are ASCII, one line each", () => {
  const text = formatSseEvent(7, JSON.stringify({ text: "é\u2028\u2029\u0085🦜\n" }));
  expect(text).toBe('id: 7\ndata: {"text":"\\u00e9\\u2028\\u2029\\u0085\\ud83e\\udd9c\\n"}\n\n');
});

test("an event over the limit is reported once and skipped, and the next event is read", () => {
  const long = "x".repeat(50);
  for (const text of [
    `data: ${long}\n\ndata: ok\n\n`,
    `data: ${long.slice(25)}\ndata: ${long.slice(25)}\nid: 4\n\ndata: ok\n\n`,
  ]) {
    expect(parse([text], 40)).toEqual({ events: [{ id: undefined, data: "ok" }], retries: [], tooLong: 1 });
    expect(parse(text.split(""), 40)).toEqual({ events: [{ id: undefined, data: "ok" }], retries: [], tooLong: 1 });
  }
});

test("a line that never ends is not kept", () => {
  const chunk = "x".repeat(1_000);
  const { tooLong, events } = parse([...Array.from({ length: 10_000 }, () => chunk), "\n\ndata: ok\n\n"], 2_000);
  expect({ tooLong, events }).toEqual({ tooLong: 1, events: [{ id: undefined, data: "ok" }] });
});
