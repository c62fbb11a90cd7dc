import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import type { A2EHost } from "../host/host.ts";
import { startEchoHost } from "../transports/echo-host.suite.ts";
import type { Door } from "./door.ts";
import { openEventStream } from "./sse-stream.ts";
import { WriteRounds } from "./write-rounds.ts";

function createDoor(host: A2EHost): Door {
  const rounds = new WriteRounds();
  return { host, streams: new Set(), keepAliveMs: 15_000, formatted: new WeakMap(), rounds, isDraining: false };
}

test("a reader that has stopped reading when its session ends does not end the host", async () => {
  const host = await startEchoHost();
  onTestFinished(() => host.close(0));
  const door = createDoor(host);
  const responses: ServerResponse[] = [];
  const errors: Error[] = [];
  const server = createServer((request, response) => {
    responses.push(response.on("error", (error) => errors.push(error)));
    openEventStream(door, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const session = host.sessions.create();
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  socket.write(`GET /stream HTTP/1.1\r\nhost: x\r\nx-session-id: ${session.id}\r\n\r\n`);
  socket.pause();
  const say = (line: object) => session.receiveLine(JSON.stringify({ id: String(Math.random()), ...line }));
  say({ type: "handshake/req", agent_id: "a", agent_caps: ["echo"] });
  await expect.poll(() => door.streams.size).toBe(1);
  const [response] = responses;
  // Until the buffers of the operating system are full, and no further: the stream can still be ended.
  while (response?.writableLength === 0) {
    say({ type: "echo/say/req", value: { text: "x".repeat(4_000) } });
    await new Promise((resolve) => setImmediate(resolve));
  }

  await session.close();
  expect(response).toMatchObject({ writableEnded: true, writableFinished: false });
  for (let count = 0; count < 3; count++) for (const stream of [...door.streams]) stream.keepAlive();
  await expect.poll(() => door.streams.size).toBe(0);

  expect(errors).toEqual([]);
});

test("a stream whose connection still answers another request waits for its turn, and then has everything", async () => {
  const host = await startEchoHost();
  onTestFinished(() => host.close(0));
  const door = createDoor(host);
  let first: ServerResponse | undefined;
  const server = createServer((request, response) => {
    if (first === undefined) first = response;
    else openEventStream(door, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").setEncoding("latin1");
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  let received = "";
  socket.on("data", (text: string) => {
    received += text;
  });
  const session = host.sessions.create();
  const say = (id: string) => session.receiveLine(JSON.stringify({ type: "ping", id }));
  session.receiveLine(JSON.stringify({ type: "handshake/req", id: "0", agent_id: "a", agent_caps: [] }));
  socket.write(
    `GET /first HTTP/1.1\r\nhost: x\r\n\r\nGET /stream HTTP/1.1\r\nhost: x\r\nx-session-id: ${session.id}\r\n\r\n`,
  );
  await expect.poll(() => door.streams.size).toBe(1);
  say("before");
  await new Promise((resolve) => setImmediate(resolve));
  first?.end("done");
  await expect.poll(() => received).toContain('"req_id":"before"');
  say("after");
  await expect.poll(() => received).toContain('"req_id":"after"');

  const [, , body] = splitHeads(received);
  expect([...dechunk(body).matchAll(/^id: (\d+)$/gm)].map(([, seq]) => seq)).toEqual(["1", "2", "3"]);
});

test("a stream that waits for its turn is not resumed when the response before it is read", async () => {
  const host = await startEchoHost({ isHandshakeRequired: false });
  onTestFinished(() => host.close(0));
  const door = createDoor(host);
  const responses: ServerResponse[] = [];
  const server = createServer((request, response) => {
    responses.push(response);
    openEventStream(door, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").resume();
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  const session = host.sessions.create();
  const get = `GET /stream HTTP/1.1\r\nhost: x\r\nx-session-id: ${session.id}\r\n\r\n`;
  socket.write(get + get);
  await expect.poll(() => responses.length).toBe(2);
  const [first, second] = responses as [ServerResponse, ServerResponse];
  const saySo = async () => {
    for (let count = 0; count < 500; count++)
      session.receiveLine(`{"type":"ping","id":"${"x".repeat(200)}${Math.random()}"}`);
    await new Promise((resolve) => setImmediate(resolve));
  };
  await saySo();
  const held = second.writableLength;
  expect(held).toBeGreaterThan(second.writableHighWaterMark);

  await saySo();
  first.socket?.emit("drain");

  expect(second.writableLength).toBe(held);
});

/** The first answer, the head of the second, and the rest. */
function splitHeads(text: string): [string, string, string] {
  const second = text.indexOf("HTTP/1.1 200 OK", 1);
  const end = text.indexOf("\r\n\r\n", second);
  return [text.slice(0, second), text.slice(second, end), text.slice(end + 4)];
}

/** Throws if the framing is wrong. */
function dechunk(text: string): string {
  if (text === "") return "";
  const end = text.indexOf("\r\n");
  const length = Number.parseInt(text.slice(0, end), 16);
  const rest = text.slice(end + 2 + length);
  if (!rest.startsWith("\r\n")) throw new Error(`a chunk does not end where it says: ${text.slice(0, 200)}`);
  return text.slice(end + 2, end + 2 + length) + dechunk(rest.slice(2));
}

/** A stream on a session that has not sent a line yet, and the data that its reader has received. */
async function openStream(version: "1.0" | "1.1") {
  const host = await startEchoHost({ isHandshakeRequired: false });
  const door = createDoor(host);
  const server = createServer((request, response) => openEventStream(door, request, response));
  const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const session = host.sessions.create();
  const reader = connect((server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(async () => {
    reader.destroy();
    server.close();
    await host.close(0);
  });
  let text = "";
  reader.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  reader.write(`GET /stream HTTP/${version}\r\nhost: x\r\nx-session-id: ${session.id}\r\n\r\n`);
  await expect.poll(() => text).toContain(": open");
  return { session, socket: await accepted, text: () => text };
}

test("the lines of a turn are sent in a single write", async () => {
  const { session, socket, text } = await openStream("1.1");
  const write = vi.spyOn(socket, "write");
  for (let count = 1; count <= 10; count++) session.receiveLine(`{"type":"ping","id":"${count}"}`);
  await expect.poll(text).toContain('"req_id":"10"');
  expect(write).toHaveBeenCalledTimes(1);
});

test("a reader of HTTP/1.0, as some proxies are, receives events without chunk framing", async () => {
  const { session, text } = await openStream("1.0");
  session.receiveLine('{"type":"ping","id":"1"}');
  await expect.poll(text).toContain('"req_id":"1"');
  const [, body = ""] = text().split(": open\n\n");
  expect(body).toMatch(/^id: 1\ndata: {[^\n]*}\n\n$/);
});
