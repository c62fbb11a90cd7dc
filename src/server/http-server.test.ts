import { request as httpRequest, type OutgoingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { createSqlJournal } from "../durability/journal/sql-journal-store.ts";
import type { A2EHost } from "../host/host.ts";
import { createGate, echo, probePlugin, startRawHost } from "../host/session/raw-session.suite.ts";
import type { SessionBeginning } from "../host/session/session-origin.ts";
import { createSqliteDatabase } from "../stores/sqlite/sqlite-database.ts";
import { startEchoHost } from "../transports/echo-host.suite.ts";
import { type RunningServer, type ServerOptions, startServer } from "./http-server.ts";

const running: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const item of running.splice(0)) await item.close();
});

type HostOptions = NonNullable<Parameters<typeof startEchoHost>[0]>;

async function start(
  options: ServerOptions = {},
  hostOptions: HostOptions = {},
): Promise<{ host: A2EHost; server: RunningServer }> {
  const host = await startEchoHost(hostOptions);
  const server = await startServer(host, { port: 0, ...options });
  running.push({ close: () => host.close(0) }, server);
  return { host, server };
}

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** A request with exactly these headers, which `fetch` does not allow. */
function ask(
  server: RunningServer,
  method: string,
  path: string,
  headers: OutgoingHttpHeaders = {},
  body = "",
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: "127.0.0.1", port: server.port, method, path, headers, agent: false },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
        response.on("error", reject);
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

/** Reads a stream of events until an event contains `last`, then disconnects. */
function readStream(server: RunningServer, headers: OutgoingHttpHeaders, last: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: "127.0.0.1", port: server.port, path: "/stream", headers, agent: false },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
          if (!text.includes(last)) return;
          request.destroy();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        });
        response.on("error", () => {});
      },
    );
    request.on("error", reject);
    request.end();
  });
}

const ping = (id: string) => JSON.stringify({ type: "ping", id });
const idsIn = (text: string) => [...text.matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]));

test("the documented routes answer byte for byte", async () => {
  const { server, host } = await start();
  expect((await ask(server, "GET", "/health")).text).toBe('{"status":"ok"}');
  const created = await ask(server, "POST", "/session");
  const { session_id } = JSON.parse(created.text) as { session_id: string };
  expect(created.text).toBe(`{"session_id":"${session_id}"}`);
  expect(host.sessions.get(session_id)).toBeDefined();
  const sent = await ask(
    server,
    "POST",
    "/send",
    { "X-Session-Id": session_id, "content-type": "text/plain" },
    ping("1"),
  );
  expect(sent).toMatchObject({ status: 200, text: '{"ok":true}' });
});

test("many lines travel in a single POST, and a reader that comes later gets every answer with its number", async () => {
  const { server, host } = await start();
  const { id } = host.sessions.create();
  await ask(server, "POST", "/send", { "x-session-id": id }, `\ufeff${ping("1")}\r\n\n${ping("2")}\n  ${ping("3")}\n`);
  const { text, headers } = await readStream(server, { "x-session-id": id }, '"3"');
  expect(headers["content-type"]).toBe("text/event-stream; charset=utf-8");
  expect(idsIn(text)).toEqual([1, 2, 3]);
});

test("Last-Event-ID resumes behind that line; without it a reader gets all that is kept; each reader gets everything", async () => {
  const { server, host } = await start();
  const { id } = host.sessions.create();
  await ask(
    server,
    "POST",
    "/send",
    { "x-session-id": id },
    [1, 2, 3, 4].map((number) => ping(`p${number}`)).join("\n"),
  );
  const [resumed, whole, again] = await Promise.all([
    readStream(server, { "x-session-id": id, "last-event-id": "2" }, '"p4"'),
    readStream(server, { "x-session-id": id }, '"p4"'),
    readStream(server, { "x-session-id": id, "last-event-id": "nonsense" }, '"p4"'),
  ]);
  expect([idsIn(resumed.text), idsIn(whole.text), idsIn(again.text)]).toEqual([
    [3, 4],
    [1, 2, 3, 4],
    [1, 2, 3, 4],
  ]);
  expect(resumed.headers["last-event-id"]).toBe("2");
});

test("a number from an earlier run of the session starts from the beginning, and the answer reports it", async () => {
  const { server, host } = await start();
  const { id } = host.sessions.create();
  await ask(server, "POST", "/send", { "x-session-id": id }, ping("p1"));
  const { text, headers } = await readStream(server, { "x-session-id": id, "last-event-id": "500" }, '"p1"');
  expect([headers["last-event-id"], idsIn(text)]).toEqual(["0", [1]]);
});

test("lines that a POST acknowledges are dropped, and a reader from before receives a gap", async () => {
  const { server, host } = await start();
  const { id } = host.sessions.create();
  await ask(server, "POST", "/send", { "x-session-id": id }, `${ping("p1")}\n${ping("p2")}`);
  await ask(server, "POST", "/send", { "x-session-id": id, "last-event-id": "2" }, ping("p3"));
  const { text } = await readStream(server, { "x-session-id": id }, '"p3"');
  expect(text).toContain('"type":"session/gap"');
  expect(idsIn(text)).toEqual([2, 3]);
});

test("events are ASCII for any text", async () => {
  const { server, host } = await start({}, { isHandshakeRequired: false });
  const { id } = host.sessions.create();
  await ask(server, "POST", "/send", { "x-session-id": id }, JSON.stringify({ type: "echo/say/req", id: "é\u2028🦜" }));
  const { text } = await readStream(server, { "x-session-id": id }, "echo/say/resp");
  expect(text).toContain('"req_id":"\\u00e9\\u2028\\ud83e\\udd9c"');
});

test("a silent stream carries keep-alive comments", async () => {
  const { server, host } = await start({ keepAliveMs: 10 });
  const { id } = host.sessions.create();
  const { text } = await readStream(server, { "x-session-id": id }, ": keep-alive\n\n");
  expect(idsIn(text)).toEqual([]);
});

test("a session that ends sends its last line and ends its streams", async () => {
  const { server, host } = await start();
  const session = host.sessions.create();
  const stream = ask(server, "GET", "/stream", { "x-session-id": session.id });
  await expect.poll(() => session.readerCount > 0).toBe(true);
  expect(await ask(server, "DELETE", `/session/${session.id}`)).toMatchObject({ status: 200, text: '{"ok":true}' });
  expect((await stream).text).toContain('"type":"session/closed"');
  expect(await ask(server, "DELETE", "/session", { "x-session-id": session.id })).toMatchObject({ status: 404 });
});

test.each([
  ["POST", "/send", {}, 400, "X-Session-Id"],
  ["GET", "/stream", {}, 400, "X-Session-Id"],
  ["DELETE", "/session", {}, 400, "X-Session-Id"],
  ["POST", "/send", { "x-session-id": "nobody" }, 404, "unknown session"],
  ["GET", "/stream", { "x-session-id": "nobody" }, 404, "unknown session"],
  ["POST", "/session/nobody/snapshot", {}, 404, "unknown session"],
  ["POST", "/session/nobody/restore", {}, 404, "nothing was saved"],
  ["GET", "/session/nobody/snapshots", {}, 404, "unknown session"],
  ["DELETE", "/session/%E0%A4%A", {}, 400, "not well encoded"],
  ["GET", "/nowhere?x=1", {}, 404, "POST /send"],
  ["GET", "//..//%00", {}, 404, "no such route"],
  ["GET", "/send", {}, 405, "takes POST"],
  ["HEAD", "/stream", {}, 405, ""],
  ["BREW", "/health", {}, 400, "not HTTP"],
  ["PATCH", "/health", {}, 405, "takes GET"],
  ["GET", "/session/constructor/__proto__", {}, 404, "no such route"],
  ["GET", "/ws", {}, 426, "WebSocket"],
])("%s %s with %o is answered with %i", async (method, path, headers, status, text) => {
  const { server } = await start();
  const answer =
    method === "BREW"
      ? await askRaw(server, `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
      : await ask(server, method, path, headers);
  expect(answer.status).toBe(status);
  expect(answer.text).toContain(text);
  expect(answer.text).not.toMatch(/\bat .*\.(ts|js):\d/);
});

function askRaw(server: RunningServer, text: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect(server.port, "127.0.0.1", () => socket.write(text));
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      received += chunk;
    });
    socket.on("error", reject).on("close", () => resolve({ status: Number(received.split(" ")[1]), text: received }));
  });
}

test("HEAD is answered like GET, without a body", async () => {
  const { server } = await start();
  expect(await ask(server, "HEAD", "/health")).toMatchObject({ status: 200, text: "" });
});

test("headers that are too large are refused with words", async () => {
  const { server } = await start();
  const answer = await askRaw(server, `GET /health HTTP/1.1\r\nhost: localhost\r\nx: ${"x".repeat(20_000)}\r\n\r\n`);
  expect(answer.status).toBe(431);
});

test("a body over the limit is answered with 413, with or without an announced length, and reported on the stream", async () => {
  const { server, host } = await start({}, { limits: { maxBodyBytes: 1_000 } });
  const { id } = host.sessions.create();
  const long = "x".repeat(5_000);
  expect((await ask(server, "POST", "/send", { "x-session-id": id, "content-length": 5_000 }, long)).status).toBe(413);
  expect(
    (await ask(server, "POST", "/send", { "x-session-id": id, "transfer-encoding": "chunked" }, long)).status,
  ).toBe(413);
  const { text } = await readStream(server, { "x-session-id": id }, "id: 2");
  expect(text).toContain("invalid_message");
});

test("a full host answers 503 with a retry time", async () => {
  const { server, host } = await start({}, { limits: { maxSessions: 1 } });
  host.sessions.create();
  expect(await ask(server, "POST", "/session")).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
});

test("a session created over HTTP or WebSocket has the address of its peer, and no header changes it", async () => {
  const beginnings: SessionBeginning[] = [];
  const { server } = await start({}, { tap: ({ beginning }) => void beginnings.push(beginning) });
  const forged = { "x-forwarded-for": "203.0.113.9", forwarded: "for=203.0.113.9" };
  await ask(server, "POST", "/session", forged);
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/ws`, { headers: forged });
  await new Promise((resolve) => socket.once("message", resolve));
  socket.terminate();
  expect(beginnings).toEqual([{ address: "127.0.0.1" }, { address: "127.0.0.1" }]);
});

test("a bearer token of the transport is good for the handshake", async () => {
  const { server } = await start({}, { authToken: "open sesame".replace(" ", "-") });
  const handshake = JSON.stringify({ type: "handshake/req", id: "h", agent_id: "a", agent_caps: ["echo"] });
  for (const [token, ok] of [
    ["open-sesame", true],
    ["wrong", false],
  ] as const) {
    const created = await ask(server, "POST", "/session", { authorization: `Bearer ${token}` });
    const { session_id } = JSON.parse(created.text) as { session_id: string };
    await ask(server, "POST", "/send", { "x-session-id": session_id }, handshake);
    expect((await readStream(server, { "x-session-id": session_id }, "handshake/resp")).text).toContain(`"ok":${ok}`);
  }
});

test("sessions are listed for operators by their handles, without any part of their ids", async () => {
  const open = await start();
  const session = open.host.sessions.create();
  const { text } = await ask(open.server, "GET", "/sessions");
  expect(text).toContain(session.info.handle);
  expect(text).not.toContain(session.id.slice(0, 8));
  const guarded = await start({}, { authToken: "secret" });
  expect((await ask(guarded.server, "GET", "/sessions")).status).toBe(401);
  expect((await ask(guarded.server, "GET", "/sessions", { authorization: "Bearer secret" })).status).toBe(200);
});

test("a session is saved, lost, brought back under its id and restored", async () => {
  const { server, host } = await start({}, { authToken: "secret" });
  const session = host.sessions.create();
  const withToken = { authorization: "Bearer secret" };
  expect((await ask(server, "POST", `/session/${session.id}/snapshot`)).status).toBe(401);
  const saved = JSON.parse(
    (await ask(server, "POST", `/session/${session.id}/snapshot`, withToken, '{"label":"first"}')).text,
  );
  expect(saved.snapshot_id).toEqual(expect.any(String));
  await host.sessions.delete(session.id);
  expect((await ask(server, "GET", `/session/${session.id}/snapshots`)).status).toBe(401);
  expect((await ask(server, "GET", `/session/${session.id}/snapshots`, withToken)).text).toContain('"label":"first"');
  expect((await ask(server, "POST", `/session/${session.id}/restore`)).status).toBe(401);
  expect(await ask(server, "POST", `/session/${session.id}/restore`, withToken)).toMatchObject({ status: 200 });
  expect(host.sessions.get(session.id)?.status).toBe("new");
  await host.sessions.delete(session.id);
  const restored = await ask(server, "POST", "/session", withToken, JSON.stringify({ restore: session.id }));
  expect(restored.text).toBe(`{"session_id":"${session.id}"}`);
  expect((await ask(server, "POST", "/session", withToken, '{"restore":"nobody"}')).status).toBe(404);
  expect((await ask(server, "POST", "/session", withToken, "[1]")).status).toBe(400);
});

test("a loopback server refuses foreign host names and foreign web origins", async () => {
  const { server } = await start({ allowedHosts: ["agents.example"] });
  const refused = [
    { host: "evil.example" },
    { host: "127.0.0.1.evil.example:80" },
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: "http://localhost:5173" },
  ];
  for (const headers of refused)
    expect((await ask(server, "POST", "/session", headers)).status, JSON.stringify(headers)).toBe(403);
  const welcome = [
    { host: "localhost:1" },
    { host: "[::1]:9" },
    { host: "agents.example" },
    { host: "localhost:5173", origin: "http://localhost:5173" },
  ];
  for (const headers of welcome)
    expect((await ask(server, "POST", "/session", headers)).status, JSON.stringify(headers)).toBe(200);
});

test("listed web origins may read answers, others may not", async () => {
  const { server } = await start({ corsOrigins: ["https://app.example"] });
  const origin = "https://app.example";
  const preflight = await ask(server, "OPTIONS", "/send", { origin, "access-control-request-method": "POST" });
  expect(preflight).toMatchObject({ status: 204, headers: { "access-control-allow-origin": origin } });
  expect(preflight.headers["access-control-allow-headers"]).toContain("X-Session-Id");
  const created = await ask(server, "POST", "/session", { origin });
  expect(created.headers).toMatchObject({ "access-control-allow-origin": origin, vary: "Origin" });
  expect((await ask(server, "POST", "/session", { origin: "https://other.example" })).status).toBe(403);
  const { headers } = await ask(server, "GET", "/health", { origin: "http://localhost:5173" });
  expect(headers["access-control-allow-origin"]).toBeUndefined();
});

test("a port in use is reported as such, with advice", async () => {
  const { server, host } = await start();
  await expect(startServer(host, { port: server.port })).rejects.toThrow(`port ${server.port} on 127.0.0.1 is in use`);
});

test("a draining server is not ready and accepts no new sessions, but answers the existing ones", async () => {
  const { server, host } = await start();
  const session = host.sessions.create();
  const stream = ask(server, "GET", "/stream", { "x-session-id": session.id });
  await expect.poll(() => session.readerCount > 0).toBe(true);
  expect((await ask(server, "GET", "/ready")).status).toBe(200);
  const closing = server.close(10_000);
  expect((await ask(server, "GET", "/ready")).status).toBe(503);
  expect((await ask(server, "POST", "/session")).status).toBe(503);
  expect((await ask(server, "POST", "/send", { "x-session-id": session.id }, ping("late"))).status).toBe(200);
  await host.close(0);
  expect((await stream).text).toContain('"late"');
  await closing;
  await expect(ask(server, "GET", "/health")).rejects.toThrow();
});

test("a call that is cut off is answered even if there is no time left and its session takes a while to end", async () => {
  const leave = async () => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return [];
  };
  const database = await createSqliteDatabase({ path: ":memory:" });
  const plugins = [probePlugin(createGate().run, echo, { leave })];
  const { host, open } = await startRawHost(plugins, { database, journal: createSqlJournal(database) });
  const server = await startServer(host, { port: 0 });
  const peer = await open();
  const before = peer.session.readerCount;
  const stream = ask(server, "GET", "/stream", { "x-session-id": peer.session.id });
  await expect.poll(() => peer.session.readerCount).toBe(before + 1);
  peer.request("cut off", "a");

  await Promise.all([host.close(0), server.close(0)]);

  expect((await stream).text).toMatch(/"req_id":"cut off".*"code":"cancelled"/);
});

test.each([
  ["at once", () => failWith("database disk image is malformed")],
  ["later", () => Promise.reject(new Error("database disk image is malformed"))],
])(
  "a session that cannot be recovered, detected %s, is answered with an error on every route, and the host continues",
  async (_when, find) => {
    const { host, server } = await start();
    host.sessions.find = find;
    const headers = { "x-session-id": "any" };
    const answers = [
      await ask(server, "POST", "/send", headers, "{}"),
      await ask(server, "GET", "/stream", headers),
      await ask(server, "POST", "/session/any/snapshot"),
    ];
    expect(answers.map(({ status }) => status)).toEqual([500, 500, 500]);
    expect(answers.map(({ text }) => text).join()).not.toContain("malformed");
    expect((await ask(server, "GET", "/health")).status).toBe(200);
  },
);

function failWith(message: string): never {
  throw new Error(message);
}
