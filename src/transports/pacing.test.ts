// What a burst of one peer may cost the others, over every door. Turns are counted, not milliseconds: the clock of the
// host moves on by one with each look at it, so a slice is a few lines long.
import { request as httpRequest, type IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { A2EClient } from "../client/client.ts";
import { createSqlJournal } from "../durability/journal/sql-journal-store.ts";
import { toSubprotocols } from "../framing/websocket.ts";
import type { A2EHost } from "../host/host.ts";
import type { Session } from "../host/session.ts";
import type { Clock, Message } from "../protocol/envelope.ts";
import { startServer } from "../server/http-server.ts";
import { createSqliteDatabase } from "../stores/sqlite/sqlite-database.ts";
import { createDirectTransport } from "./direct.ts";
import { echo, startEchoHost } from "./echo-host.suite.ts";
import { createNodeHttpTransport } from "./http/http-node.ts";
import { serveStdio } from "./stdio/stdio.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function createTickingClock(): Clock {
  let nowMs = 1_789_000_000_000;
  return { now: () => ++nowMs };
}

type Options = Parameters<typeof startEchoHost>[0];

async function start(options: Options = {}) {
  const host = await startEchoHost(options);
  const server = await startServer(host, { port: 0 });
  closing.push(
    () => host.close(0),
    () => server.close(),
  );
  return { host, server, url: server.url };
}

async function connectQuiet(url: string): Promise<A2EClient> {
  const client = await A2EClient.connect({ transport: createNodeHttpTransport({ url }), capabilities: [echo.name] });
  closing.push(() => client.disconnect());
  return client;
}

/** A session that has shaken hands. */
function openSession(host: A2EHost): Session {
  const session = host.sessions.create();
  const caps = { agent_id: "flood", agent_caps: [echo.name] };
  session.receiveLine(JSON.stringify({ type: "handshake/req", id: "handshake", version: "1.0", ...caps }));
  return session;
}

const say = (id: number, text = "") => JSON.stringify({ type: "echo/say/req", id: `call ${id}`, value: { text } });
const burst = (count: number, text = "") => Array.from({ length: count }, (_, id) => say(id, text)).join("\n");

interface Posted {
  status: number;
  retryAfter: string | undefined;
  text: string;
}

function post(url: string, sessionId: string, body: string): Promise<Posted> {
  return new Promise((resolve, reject) => {
    const headers = { "x-session-id": sessionId, "content-length": Buffer.byteLength(body) };
    const request = httpRequest(
      `${url}/send`,
      { method: "POST", headers, agent: false },
      (response: IncomingMessage) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () => {
          resolve({ status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"], text });
        });
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

/** Reads a session from its first line, as a late reader does. */
function read(session: Session) {
  const messages: Message[] = [];
  const reader = session.attach(0, take);
  function take(): void {
    for (let lines = reader.read(1e9); lines.length > 0; lines = reader.read(1e9))
      for (const { line } of lines) messages.push(JSON.parse(line) as Message);
  }
  take();
  const answered = () => messages.flatMap(({ req_id }) => (String(req_id).startsWith("call") ? [req_id] : []));
  return { messages, answered, close: () => reader.close() };
}

const ids = (count: number) => Array.from({ length: count }, (_, id) => `call ${id}`);

/** Follows a burst turn by turn, and calls from another session meanwhile. */
async function followBurst(quiet: A2EClient, session: Session, lastSeq: number) {
  let answeredAt = Number.POSITIVE_INFINITY;
  const call = quiet.rpc(echo.calls.say, { value: {} }).then(() => {
    answeredAt = session.lastSeq;
  });
  let linesInOneTurn = 0;
  for (let before = session.lastSeq; before < lastSeq; ) {
    await nextTurn();
    linesInOneTurn = Math.max(linesInOneTurn, session.lastSeq - before);
    before = session.lastSeq;
  }
  await call;
  return { answeredAt, linesInOneTurn };
}

const count = 5_000;

test("a POST of many lines does not delay another session's call, and all its lines are answered in order", async () => {
  const { host, url } = await start({ clock: createTickingClock() });
  const quiet = await connectQuiet(url);
  const session = openSession(host);
  const reader = read(session);
  const posted = post(url, session.id, burst(count));
  const { answeredAt, linesInOneTurn } = await followBurst(quiet, session, count + 1);
  expect((await posted).status).toBe(200);
  expect(answeredAt).toBeLessThan(count);
  expect(linesInOneTurn).toBeLessThan(100);
  expect(reader.answered()).toEqual(ids(count));
});

test("a WebSocket frame of many lines does not delay another session's call", async () => {
  const { host, url } = await start({ clock: createTickingClock() });
  const quiet = await connectQuiet(url);
  const session = openSession(host);
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws`, toSubprotocols({ sessionId: session.id }));
  closing.push(async () => socket.terminate());
  await new Promise((resolve) => socket.on("open", resolve));
  socket.send(burst(count));
  const { answeredAt, linesInOneTurn } = await followBurst(quiet, session, count + 1);
  expect(answeredAt).toBeLessThan(count);
  expect(linesInOneTurn).toBeLessThan(100);
});

test("lines from a pipe do not delay another session's call, and all are answered before its end ends the session", async () => {
  const { host, url } = await start({ clock: createTickingClock() });
  const quiet = await connectQuiet(url);
  const session = openSession(host);
  const [input, output] = [new PassThrough(), new PassThrough()];
  let text = "";
  output.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  const served = serveStdio(session, { input, output, limits: host.limits });
  input.end(burst(count));
  const { answeredAt, linesInOneTurn } = await followBurst(quiet, session, count + 1);
  expect(answeredAt).toBeLessThan(count);
  expect(linesInOneTurn).toBeLessThan(100);
  await served;
  expect([...text.matchAll(/"req_id":"(call \d+)"/g)].map(([, id]) => id)).toEqual(ids(count));
});

test("a loop of calls in process does not keep another session from being served", async () => {
  const { host, url } = await start({ clock: createTickingClock() });
  const quiet = await connectQuiet(url);
  const client = await A2EClient.connect({
    transport: createDirectTransport(() => host.sessions.create()),
    capabilities: [echo.name],
  });
  closing.push(() => client.disconnect());
  let isAnswered = false;
  const answer = quiet.rpc(echo.calls.say, { value: {} }).then(() => {
    isAnswered = true;
  });
  let calls = 0;
  while (!isAnswered && calls < count) {
    await client.rpc(echo.calls.say, { value: { calls } });
    calls += 1;
  }
  expect(calls).toBeLessThan(count);
  await answer;
});

test("calls in process that have to wait are answered in the order in which they were made", async () => {
  const { host } = await start({ clock: createTickingClock() });
  const client = await A2EClient.connect({
    transport: createDirectTransport(() => host.sessions.create()),
    capabilities: [echo.name],
  });
  closing.push(() => client.disconnect());
  const order: number[] = [];
  const calls = Array.from({ length: 500 }, (_, number) =>
    client.rpc(echo.calls.say, { value: { number } }).then(({ value }) => order.push(value.number as number)),
  );
  await Promise.all(calls);
  expect(order).toEqual(Array.from({ length: 500 }, (_, number) => number));
});

test("calls that waited for a slot and then end at once do not run in one long turn", async () => {
  const { host, url } = await start({ clock: createTickingClock() });
  const quiet = await connectQuiet(url);
  const session = openSession(host);
  const slow = Array.from({ length: 4 }, (_, id) => ({
    type: "echo/count/req",
    id: `slow ${id}`,
    key: "k",
    events: 3,
  }));
  for (const request of slow) session.receiveLine(JSON.stringify(request));
  for (let id = 0; id < 1_000; id++) session.receiveLine(say(id));
  const answers = 1 + 4 * 4 + 1_000;
  expect((await followBurst(quiet, session, answers)).linesInOneTurn).toBeLessThan(100);
  expect(read(session).answered()).toEqual(ids(1_000));
});

test.each([false, true])(
  "large answers wait unsent up to about maxUnsentBytes, and a reader that comes late gets all of them (durable: %s)",
  async (isDurable) => {
    const database = await createSqliteDatabase({ path: ":memory:" });
    const { host, url } = await start({
      limits: { maxUnsentBytes: 50_000 },
      ...(isDurable ? { database, journal: createSqlJournal(database) } : {}),
    });
    closing.unshift(() => database.close());
    const session = openSession(host);
    expect((await post(url, session.id, burst(200, "x".repeat(10_000)))).status).toBe(200);
    for (let turn = 0; turn < 20; turn++) {
      await nextTurn();
      expect(session.unsentBytes).toBeLessThan(50_000 + 25_000);
    }
    const reader = read(session);
    await expect.poll(() => reader.answered().length).toBe(200);
    expect(reader.answered()).toEqual(ids(200));
    expect(reader.messages.some(({ type }) => type === "session/gap")).toBe(false);
  },
);

test("a second reader that takes nothing does not hold back a session whose first reader keeps up", async () => {
  const { host, url } = await start({ limits: { maxUnsentBytes: 50_000 } });
  const session = openSession(host);
  session.attach(0, () => {});
  const reader = read(session);
  await post(url, session.id, burst(100, "x".repeat(10_000)));
  await expect.poll(() => reader.answered().length).toBe(100);
});

test("events without a reader do not prevent a call from being handled", async () => {
  const { host, url } = await start({ limits: { maxUnsentBytes: 50_000 } });
  const session = openSession(host);
  const flood = JSON.stringify({ type: "echo/flood/req", id: "flood", lines: 100, bytes: 10_000 });
  await post(url, session.id, `${flood}\n${say(0)}`);
  await expect.poll(() => session.lastSeq).toBe(103);
});

test("a POST to a session whose lines wait is answered with 429 after intakeWaitMs, and nothing of it is handled", async () => {
  const limits = { maxUnsentBytes: 5_000, maxIntakeBytes: 20_000, intakeWaitMs: 20 };
  const { host, url } = await start({ limits });
  const session = openSession(host);
  await post(url, session.id, burst(10, "x".repeat(5_000)));
  const refused = await post(url, session.id, say(10));
  expect([refused.status, refused.retryAfter]).toEqual([429, "1"]);
  expect(JSON.parse(refused.text)).toMatchObject({ code: "rate_limited", detail: { limit: "maxIntakeBytes" } });
  const reader = read(session);
  await expect.poll(() => reader.answered().length).toBe(10);
  expect((await post(url, session.id, say(10))).status).toBe(200);
  await expect.poll(() => reader.answered()).toEqual(ids(11));
});

test("a POST that waits for room is read once the answers are, and one to a session that ends meanwhile gets 404", async () => {
  const { host, url } = await start({ limits: { maxUnsentBytes: 5_000, maxIntakeBytes: 20_000 } });
  const session = openSession(host);
  await post(url, session.id, burst(10, "x".repeat(5_000)));
  const waiting = post(url, session.id, say(10));
  const reader = read(session);
  expect((await waiting).status).toBe(200);
  await expect.poll(() => reader.answered()).toEqual(ids(11));

  const ending = openSession(host);
  await post(url, ending.id, burst(10, "x".repeat(5_000)));
  const late = post(url, ending.id, say(10));
  await expect.poll(() => host.sessions.get(ending.id)?.intake.isFull).toBe(true);
  await ending.close();
  expect((await late).status).toBe(404);
});

test("a WebSocket is not read while its session's answers are unread, and resumes with its reader", async () => {
  const { host, url } = await start({
    limits: { maxUnsentBytes: 5_000, maxIntakeBytes: 20_000, maxReaderBytes: 5_000 },
  });
  const session = openSession(host);
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws`, toSubprotocols({ sessionId: session.id }));
  closing.push(async () => socket.terminate());
  let text = "";
  socket.on("message", (data) => {
    text += `${data}\n`;
  });
  await new Promise((resolve) => socket.on("open", resolve));
  socket.pause();
  for (let id = 0; id < 500; id++) socket.send(say(id, "x".repeat(20_000)));
  await expect.poll(() => session.intake.isFull).toBe(true);
  // The rest is in the buffers of the system and of the peer.
  await expect.poll(() => socket.bufferedAmount).toBeGreaterThan(1_000_000);
  expect(session.unsentBytes).toBeLessThan(5_000 + 2 * 20_200);
  socket.resume();
  const answered = () => [...text.matchAll(/"req_id":"(call \d+)"/g)].map(([, id]) => id);
  await expect.poll(() => answered().length).toBe(500);
  expect(answered()).toEqual(ids(500));
});

test("a pipe is not read while its session's answers are unread", async () => {
  const { host } = await start({ limits: { maxUnsentBytes: 5_000, maxIntakeBytes: 20_000, maxReaderBytes: 5_000 } });
  const session = openSession(host);
  const [input, output] = [new PassThrough(), new PassThrough()];
  const served = serveStdio(session, { input, output, limits: host.limits });
  for (let id = 0; id < 100; id++) input.write(`${say(id, "x".repeat(20_000))}\n`);
  input.end();
  await expect.poll(() => input.isPaused()).toBe(true);
  let text = "";
  output.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  await served;
  expect([...text.matchAll(/"req_id":"(call \d+)"/g)].map(([, id]) => id)).toEqual(ids(100));
});

test("a peer without a handshake is refused after maxLinesBeforeHandshake lines, and its session ends", async () => {
  const { host, url } = await start({ limits: { maxLinesBeforeHandshake: 3 } });
  const session = host.sessions.create();
  const reader = read(session);
  await post(url, session.id, "x\n".repeat(30_000));
  await expect.poll(() => session.status).toBe("closed");
  const [first, second, third, last, report] = reader.messages;
  expect([first, second, third].map((message) => message?.code)).toEqual(Array(3).fill("parse_error"));
  expect(last).toMatchObject({ code: "unauthorized", detail: { limit: "maxLinesBeforeHandshake" } });
  expect(report?.type).toBe("session/closed");
  expect(reader.messages).toHaveLength(5);
  expect((await post(url, session.id, say(0))).status).toBe(404);
});

test("the body of a peer without a handshake is not read beyond maxBytesBeforeHandshake", async () => {
  const { host, url } = await start({ limits: { maxBytesBeforeHandshake: 1_000 } });
  const session = host.sessions.create();
  const refused = await post(url, session.id, "x\n".repeat(501));
  expect([refused.status, refused.text]).toEqual([413, expect.stringContaining("maxBytesBeforeHandshake is 1000")]);
  session.intake.receiveText("x".repeat(1_001));
  await expect.poll(() => session.status).toBe("closed");
});

test("a session that has shaken hands has no such allowance", async () => {
  const { host } = await start({ limits: { maxLinesBeforeHandshake: 2, maxBytesBeforeHandshake: 1_000 } });
  const session = openSession(host);
  const reader = read(session);
  session.intake.receiveText(burst(20, "x".repeat(500)));
  await expect.poll(() => reader.answered()).toEqual(ids(20));
});

test("on a host without handshake the first line may be longer than maxBytesBeforeHandshake", async () => {
  const { host, url } = await start({ isHandshakeRequired: false, limits: { maxBytesBeforeHandshake: 1_000 } });
  const session = host.sessions.create();
  const reader = read(session);
  expect((await post(url, session.id, burst(2, "x".repeat(2_000)))).status).toBe(200);
  await expect.poll(() => reader.answered()).toEqual(ids(2));
});
