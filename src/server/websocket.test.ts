import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { formatAcknowledgement, toSubprotocols } from "../framing/websocket.ts";
import type { A2EHost } from "../host/host.ts";
import type { Message } from "../protocol/envelope.ts";
import { startEchoHost } from "../transports/echo-host.suite.ts";
import { type RunningServer, startServer } from "./http-server.ts";

let host: A2EHost;
let server: RunningServer;
const sockets: WebSocket[] = [];

async function start(options: Parameters<typeof startEchoHost>[0] = {}, keepAliveMs = 15_000): Promise<void> {
  host = await startEchoHost(options);
  server = await startServer(host, { port: 0, keepAliveMs });
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate();
  await host.close(0);
  await server.close();
});

/** A socket with all lines it has received. */
function connect(query = "", protocols = toSubprotocols({}), options: ConstructorParameters<typeof WebSocket>[2] = {}) {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws${query}`, protocols, options);
  sockets.push(socket);
  const lines: Message[] = [];
  socket.on("message", (data) => {
    for (const line of data.toString().split("\n")) lines.push(JSON.parse(line) as Message);
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  socket.on("error", () => {});
  const until = (count: number) => expect.poll(() => lines.length).toBeGreaterThanOrEqual(count);
  return { socket, lines, closed, until };
}

const ping = (id: string) => JSON.stringify({ type: "ping", id });

test("a socket without a session gets a new session, and first receives its id and position", async () => {
  await start();
  const peer = connect();
  await peer.until(1);
  const session = host.sessions.list()[0];
  expect(peer.lines[0]).toMatchObject({ type: "session/resumed", session_id: session?.id, seq: 0, last: 0 });
  expect(peer.socket.protocol).toBe("a2e.v1");
  peer.socket.send(`${ping("1")}\n${ping("2")}`);
  await peer.until(3);
  expect(peer.lines.slice(1).map((line) => line.req_id)).toEqual(["1", "2"]);
});

test("a socket that reconnects continues after the line it names", async () => {
  await start();
  const session = host.sessions.create();
  for (const id of ["1", "2", "3"]) session.receiveLine(ping(id));
  const protocols = toSubprotocols({ sessionId: session.id });
  const resumed = connect("?from=2", protocols);
  const whole = connect("", ["a2e.v1"], { headers: { "x-session-id": session.id } });
  const stranger = connect("?from=99", protocols);
  await Promise.all([resumed.until(2), whole.until(4), stranger.until(4)]);
  expect(resumed.lines.map((line) => line.req_id ?? line.seq)).toEqual([2, "3"]);
  expect(whole.lines.map((line) => line.req_id ?? line.seq)).toEqual([0, "1", "2", "3"]);
  expect(stranger.lines.map((line) => line.req_id ?? line.seq)).toEqual([0, "1", "2", "3"]);
});

test("an acknowledgement frees the log and is not answered", async () => {
  await start();
  const session = host.sessions.create();
  for (const id of ["1", "2", "3"]) session.receiveLine(ping(id));
  const peer = connect("", toSubprotocols({ sessionId: session.id }));
  await peer.until(4);
  peer.socket.send(formatAcknowledgement(2));
  peer.socket.send(ping("4"));
  await peer.until(5);
  expect(peer.lines.at(-1)?.req_id).toBe("4");
  const later = connect("", toSubprotocols({ sessionId: session.id }));
  await later.until(4);
  expect(later.lines[1]).toMatchObject({ type: "session/gap", from: 1, to: 2 });
});

test("an unknown session is closed with 4404, an ended session with 4000", async () => {
  await start();
  expect((await connect("", toSubprotocols({ sessionId: "nobody" })).closed).code).toBe(4404);
  const peer = connect();
  await peer.until(1);
  await host.sessions.delete(host.sessions.list()[0]?.id ?? "");
  expect((await peer.closed).code).toBe(4000);
  expect(peer.lines.at(-1)?.type).toBe("session/closed");
});

test("a token may come as a subprotocol", async () => {
  await start({ authToken: "päss word" });
  const peer = connect("", toSubprotocols({ token: "päss word" }));
  await peer.until(1);
  peer.socket.send(JSON.stringify({ type: "handshake/req", id: "h", agent_id: "a", agent_caps: ["echo"] }));
  await peer.until(2);
  expect(peer.lines[1]).toMatchObject({ ok: true });
});

test("foreign web origins and other paths are refused before the upgrade", async () => {
  await start();
  expect((await connect("", ["a2e.v1"], { origin: "https://evil.example" }).closed).code).toBe(1006);
  expect((await connect("/else").closed).code).toBe(1006);
  expect(host.sessions.size).toBe(0);
});

test("binary frames are refused", async () => {
  await start();
  const peer = connect();
  await peer.until(1);
  peer.socket.send(Buffer.from("{}"), { binary: true });
  expect((await peer.closed).code).toBe(1003);
});

test("a peer that does not answer pings is disconnected, a peer that does is not", async () => {
  await start({}, 20);
  const dead = connect("", undefined, { autoPong: false });
  const alive = connect();
  expect((await dead.closed).code).toBe(1006);
  expect(alive.socket.readyState).toBe(WebSocket.OPEN);
});

test("a server that closes sends goodbye", async () => {
  await start();
  const peer = connect();
  await peer.until(1);
  await server.close();
  expect((await peer.closed).code).toBe(1001);
});
