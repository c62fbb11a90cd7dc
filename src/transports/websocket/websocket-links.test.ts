// The WebSocket transport against hosts and proxies that misbehave, simulated by the test.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createMessage } from "../../protocol/codec.ts";
import { maxWaitingLength } from "../waiting-lines.ts";
import { createWebSocketTransport } from "./websocket.ts";
import type { WebSocketLike } from "./websocket-link.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

class FakeSocket implements WebSocketLike {
  onmessage: WebSocketLike["onmessage"] = null;
  onclose: WebSocketLike["onclose"] = null;
  onerror: WebSocketLike["onerror"] = null;
  bufferedAmount = 0;
  isTerminated = false;
  readonly sent: string[] = [];

  send(text: string): void {
    this.sent.push(text);
  }
  close(): void {}
  terminate(): void {
    this.isTerminated = true;
  }

  /** The first message of a host. */
  welcome(): void {
    this.onmessage?.({ data: '{"type":"session/resumed","session_id":"s","seq":0,"last":0}' });
  }
  end(code: number): void {
    this.onclose?.({ code, reason: "" });
  }
}

/** As in a browser, which has a socket of its own. */
async function openInBrowser(behave: (socket: FakeSocket, attempt: number) => void) {
  const sockets: FakeSocket[] = [];
  const received: unknown[] = [];
  vi.stubGlobal(
    "WebSocket",
    class extends FakeSocket {
      constructor() {
        super();
        sockets.push(this);
        setTimeout(() => behave(this, sockets.length), 0);
      }
    },
  );
  const transport = createWebSocketTransport({ url: "ws://host" });
  const opening = transport.open({ receive: (message) => received.push(message), restored() {}, closed() {} });
  await vi.advanceTimersByTimeAsync(0);
  await opening;
  return { sockets, received, transport };
}

function createLink(behave: (socket: FakeSocket, attempt: number) => void) {
  const sockets: FakeSocket[] = [];
  const reasons: (Error | undefined)[] = [];
  const transport = createWebSocketTransport({
    url: "ws://name:secret@host",
    reconnect: { random: () => 1 },
    connect: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      setTimeout(() => behave(socket, sockets.length), 0);
      return socket;
    },
  });
  const events = { receive() {}, restored() {}, closed: (reason?: Error) => void reasons.push(reason) };
  return { sockets, reasons, transport, open: () => transport.open(events) };
}

const say = (text: string) => createMessage("echo/say/req", crypto.randomUUID(), 0, { text });

test("a host that accepts the connection and sends nothing is given up", async () => {
  const { sockets, open } = createLink(() => {});
  const opening = open().catch((error: Error) => error.message);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await opening).toBe("could not reach a host at ws://host/ws: no answer within 30 s");
  expect(sockets.map((socket) => socket.isTerminated)).toEqual([true]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a host that sends nothing after a cut is disconnected and tried again", async () => {
  const { sockets, transport, open } = createLink((socket, attempt) => {
    if (attempt !== 2) socket.welcome();
    if (attempt === 1) socket.end(1006);
  });
  const opening = open();
  await vi.advanceTimersByTimeAsync(31_000);
  await opening;
  expect(sockets.map((socket) => socket.isTerminated)).toEqual([false, true, false]);
  const closing = transport.close();
  await vi.advanceTimersByTimeAsync(1_000);
  await closing;
});

test("a socket that is closed as soon as it is open is not opened again in a hurry", async () => {
  const { sockets, transport, open } = createLink((socket) => {
    socket.welcome();
    socket.end(1011);
  });
  const opening = open();
  await vi.advanceTimersByTimeAsync(10_000);
  await opening;
  expect(sockets.length).toBe(8);
  await transport.close();
});

test("a message larger than the host takes ends the link, and is not sent for ever", async () => {
  const { sockets, reasons, transport, open } = createLink((socket) => socket.welcome());
  const opening = open();
  await vi.advanceTimersByTimeAsync(0);
  await opening;
  transport.send(say("large"));
  sockets[0]?.end(1009);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sockets.length).toBe(1);
  expect(reasons.map(String)).toEqual(["Error: a message was larger than the host takes"]);
});

test("the lines of a turn are sent in frames that every host accepts", async () => {
  const { sockets, transport, open } = createLink((socket) => socket.welcome());
  const opening = open();
  await vi.advanceTimersByTimeAsync(0);
  await opening;
  for (let number = 0; number < 5; number++) transport.send(say("x".repeat(30_000)));
  await vi.advanceTimersByTimeAsync(0);
  expect(sockets[0]?.sent.map((frame) => frame.split("\n").length)).toEqual([2, 2, 1]);
  const closing = transport.close();
  await vi.advanceTimersByTimeAsync(1_000);
  await closing;
});

test("the reason of a failed connection is reported if the platform passes it", async () => {
  const { open } = createLink((socket) => {
    socket.onerror?.({ message: "connect ECONNREFUSED 127.0.0.1:1" });
    socket.end(1006);
  });
  const opening = open().catch((error: Error) => error.message);
  await vi.advanceTimersByTimeAsync(0);
  expect(await opening).toBe("could not reach a host at ws://host/ws: connect ECONNREFUSED 127.0.0.1:1");
});

test("a server that is not an A2E host is disconnected", async () => {
  const { sockets, open } = createLink((socket) => socket.onmessage?.({ data: "hello" }));
  const opening = open().catch((error: Error) => error.message);
  await vi.advanceTimersByTimeAsync(0);
  expect(await opening).toContain("not an A2E host");
  expect(sockets[0]?.isTerminated).toBe(true);
});

test("a host that takes no part in closing is left after a second", async () => {
  const { sockets, transport, open } = createLink((socket) => socket.welcome());
  const opening = open();
  await vi.advanceTimersByTimeAsync(0);
  await opening;
  const closing = transport.close();
  await vi.advanceTimersByTimeAsync(1_000);
  await closing;
  expect(sockets[0]?.isTerminated).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test("for a host that does not read, no more than so much is kept", async () => {
  const { sockets, transport, open } = createLink((socket) => socket.welcome());
  const opening = open();
  await vi.advanceTimersByTimeAsync(0);
  await opening;
  Object.assign(sockets[0] ?? {}, { bufferedAmount: maxWaitingLength });
  expect(() => transport.send(say("one more"))).toThrow("wait for the host already");
  const closing = transport.close();
  await vi.advanceTimersByTimeAsync(1_000);
  await closing;
});

test("in a browser, a host that does not answer a probe is disconnected", async () => {
  const { sockets, transport } = await openInBrowser((socket) => socket.welcome());
  await vi.advanceTimersByTimeAsync(45_000);
  expect(sockets[0]?.sent.map((frame) => JSON.parse(frame).type)).toEqual(["ping"]);
  await vi.advanceTimersByTimeAsync(15_100);
  expect(sockets.map((socket) => socket.isTerminated)).toEqual([true, false]);
  const closing = transport.close();
  await vi.advanceTimersByTimeAsync(1_000);
  await closing;
  expect(vi.getTimerCount()).toBe(0);
});

test("in a browser, a host that answers the probe stays connected, and the answer is not delivered", async () => {
  const { sockets, received, transport } = await openInBrowser((socket) => {
    socket.welcome();
    const { send } = socket;
    socket.send = (frame) => {
      send.call(socket, frame);
      const { type, id } = JSON.parse(frame) as { type: string; id: string };
      if (type === "ping") socket.onmessage?.({ data: JSON.stringify({ type: "pong", req_id: id }) });
    };
  });
  await vi.advanceTimersByTimeAsync(10 * 60_000);
  expect(sockets).toHaveLength(1);
  expect(received).toEqual([]);
  const closing = transport.close();
  await vi.advanceTimersByTimeAsync(1_000);
  await closing;
});
