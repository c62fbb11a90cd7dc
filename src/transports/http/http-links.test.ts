// The HTTP transport against hosts and proxies that misbehave, simulated by the test.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keepAliveHeader } from "../../framing/sse.ts";
import { createMessage } from "../../protocol/codec.ts";
import { maxWaitingLength } from "../waiting-lines.ts";
import { createHttpTransport } from "./http.ts";
import type { HttpAnswer, HttpIo, HttpStreamEvents } from "./http-io.ts";
import { describeAnswer } from "./http-posts.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Script {
  stream?(events: HttpStreamEvents, attempt: number): void;
  send?(body: string): HttpAnswer | undefined;
}

const taken: HttpAnswer = { status: 200, body: '{"ok":true}' };
const open = (events: HttpStreamEvents, headers: Record<string, string> = {}) =>
  events.opened(200, (name) => ({ "last-event-id": "0", ...headers })[name]);

function createLink({ stream = (events) => open(events), send = () => taken }: Script) {
  const seen = { attempts: 0, streams: 0, bodies: [] as string[], reasons: [] as (Error | undefined)[] };
  const io: HttpIo = {
    post(path, _headers, body, done) {
      if (path === "/send") seen.bodies.push(body);
      const answer = path === "/session" ? { status: 200, body: '{"session_id":"s"}' } : send(body);
      queueMicrotask(() => done(answer === undefined ? new Error("refused") : undefined, answer));
    },
    stream(_path, _headers, events) {
      seen.attempts += 1;
      seen.streams += 1;
      let isOver = false;
      const over = () => {
        if (!isOver) seen.streams -= 1;
        isOver = true;
      };
      queueMicrotask(() => {
        const ended = (error?: Error) => {
          over();
          events.ended(error);
        };
        if (!isOver) stream({ ...events, ended }, seen.attempts);
      });
      return over;
    },
    close: async () => {},
  };
  const transport = createHttpTransport({ url: "http://host", createIo: () => io, reconnect: { random: () => 1 } });
  const events = { receive() {}, restored() {}, closed: (reason?: Error) => void seen.reasons.push(reason) };
  return { seen, transport, open: () => transport.open(events) };
}

const say = (text: string) => createMessage("echo/say/req", crypto.randomUUID(), 0, { text });

test("a stream that ends as soon as it is open is not asked for again in a hurry", async () => {
  const link = createLink({
    stream(events) {
      open(events);
      events.ended();
    },
  });
  await link.open();
  await vi.advanceTimersByTimeAsync(10_000);
  // At once, then after 0.1, 0.2, 0.4 … seconds.
  expect(link.seen.attempts).toBe(8);
  await link.transport.close();
});

test("a stream that has received data is reopened without growing waits", async () => {
  const link = createLink({
    stream(events, attempt) {
      open(events);
      events.data(`id: ${attempt}\ndata: {}\n\n`);
      if (attempt < 20) events.ended();
    },
  });
  await link.open();
  await vi.advanceTimersByTimeAsync(50);
  expect(link.seen.attempts).toBe(20);
  await link.transport.close();
});

test("a host that never answers the first GET /stream is given up", async () => {
  const link = createLink({ stream() {} });
  const opening = link.open().catch((error: Error) => error.message);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await opening).toBe("could not reach a host at http://host: no answer to GET /stream within 30 s");
  expect(link.seen.streams).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

test("a host that does not answer GET /stream after a cut is asked again", async () => {
  const link = createLink({
    stream(events, attempt) {
      if (attempt !== 2) open(events);
      if (attempt === 1) events.ended();
    },
  });
  await link.open();
  await vi.advanceTimersByTimeAsync(31_000);
  expect(link.seen).toMatchObject({ attempts: 3, streams: 1 });
  await link.transport.close();
});

test("closed while the stream opens, it does not open", async () => {
  const link = createLink({ stream() {} });
  const opening = link.open().catch((error: Error) => error.message);
  await vi.advanceTimersByTimeAsync(0);
  await link.transport.close();
  expect(await opening).toContain("closed meanwhile");
  expect(link.seen).toMatchObject({ streams: 0, reasons: [] });
});

test("closed while its platform is being made ready, it asks for no session", async () => {
  const post = vi.fn();
  const close = vi.fn(async () => {});
  const transport = createHttpTransport({
    url: "http://host",
    createIo: async () => ({ post, stream: () => () => {}, close }),
  });
  const opening = transport.open({ receive() {}, restored() {}, closed() {} });
  const refused = expect(opening).rejects.toThrow("closed meanwhile");
  await transport.close();
  await refused;
  expect(post).not.toHaveBeenCalled();
  expect(close).toHaveBeenCalled();
});

test("a keep-alive beyond all timers does not make the watch spin", async () => {
  const link = createLink({ stream: (events) => open(events, { [keepAliveHeader]: "1e12" }) });
  const interval = vi.spyOn(globalThis, "setInterval");
  await link.open();
  expect(interval.mock.calls[0]?.[1]).toBeLessThan(2 ** 31);
  await link.transport.close();
});

test("the lines of a turn travel in a single POST, and lines sent during that POST in the next", async () => {
  const link = createLink({});
  await link.open();
  for (const text of ["1", "2", "3"]) link.transport.send(say(text));
  await vi.advanceTimersByTimeAsync(0);
  for (const text of ["4", "5"]) link.transport.send(say(text));
  await link.transport.close();
  const texts = link.seen.bodies.map((body) => body.split("\n").map((line) => JSON.parse(line).text));
  expect(texts).toEqual([
    ["1", "2", "3"],
    ["4", "5"],
  ]);
});

test("lines that exceed the body limit of the host are sent in smaller POSTs, in order", async () => {
  const link = createLink({ send: (body) => (body.length > 500 ? { status: 413, body: "" } : taken) });
  await link.open();
  for (let number = 0; number < 20; number++) link.transport.send(say(`${number}.`));
  await link.transport.close();
  const taking = link.seen.bodies.filter((body) => body.length <= 500);
  const texts = taking.flatMap((body) => body.split("\n")).map((line) => (JSON.parse(line) as { text: string }).text);
  expect(texts).toEqual(Array.from({ length: 20 }, (_, number) => `${number}.`));
});

test("a single line that the host refuses is not repeated, and those behind it go", async () => {
  const link = createLink({ send: (body) => (body.includes("large") ? { status: 413, body: "" } : taken) });
  await link.open();
  link.transport.send(say("large"));
  await vi.advanceTimersByTimeAsync(1);
  link.transport.send(say("small"));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(link.seen.bodies.map((body) => JSON.parse(body).text)).toEqual(["large", "small"]);
  await link.transport.close();
});

test("while the host is away, no more than so much is kept for it", async () => {
  const link = createLink({ send: () => undefined });
  await link.open();
  link.transport.send(say("first"));
  await vi.advanceTimersByTimeAsync(1);
  const large = say("x".repeat(maxWaitingLength));
  link.transport.send(large);
  expect(() => link.transport.send(say("one more"))).toThrow("wait for the host already");
  const closing = link.transport.close();
  await vi.advanceTimersByTimeAsync(2_000);
  await closing;
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ["<!DOCTYPE HTML>\n<html>\n<body>Not here</body>", "501 and a web page; is that an A2E host?"],
  [
    '{"error":"unknown session","hint":"POST /session for a new one"}',
    "501 unknown session: POST /session for a new one",
  ],
  ["  busy\n try later ", "501 busy try later"],
  ["null", "501 null"],
])("an answer that does not come from a host is reported in one line: %j", (body, text) => {
  expect(describeAnswer({ status: 501, body })).toBe(text);
});
