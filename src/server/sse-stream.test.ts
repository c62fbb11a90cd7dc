import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { startEchoHost } from "../transports/echo-host.suite.ts";
import type { Door } from "./door.ts";
import { openEventStream } from "./sse-stream.ts";

test("a reader that has stopped reading when its session ends does not end the host", async () => {
  const host = await startEchoHost();
  onTestFinished(() => host.close(0));
  const door: Door = { host, streams: new Set(), keepAliveMs: 15_000, formatted: new WeakMap(), isDraining: false };
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
  // Until what the machine takes on its own is full, and no further: the stream can still be ended.
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
