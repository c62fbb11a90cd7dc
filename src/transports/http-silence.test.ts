import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keepAliveHeader } from "../framing/sse.ts";
import { createHttpTransport } from "./http/http.ts";
import type { HttpIo } from "./http/http-io.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A host that accepts streams while it is up, and never sends data on them. */
async function connect(headers: Record<string, string> = {}) {
  const host = { isDown: false, open: 0, attempts: 0 };
  const io: HttpIo = {
    post: (_path, _headers, _body, done) =>
      queueMicrotask(() => done(undefined, { status: 200, body: '{"session_id":"s"}' })),
    stream(_path, _headers, events) {
      host.attempts += 1;
      host.open += 1;
      let isOver = false;
      const over = () => {
        if (!isOver) host.open -= 1;
        isOver = true;
      };
      queueMicrotask(() => {
        if (isOver) return;
        if (!host.isDown) return events.opened(200, (name) => ({ "last-event-id": "0", ...headers })[name]);
        over();
        events.ended(new Error("refused"));
      });
      return over;
    },
    close: async () => {},
  };
  const transport = createHttpTransport({ url: "http://host", createIo: () => io });
  await transport.open({ receive() {}, restored() {}, closed() {} });
  return { host, transport };
}

test("a host that fell silent and stays silent receives one GET /stream at a time", async () => {
  const { host, transport } = await connect();

  host.isDown = true;
  await vi.advanceTimersByTimeAsync(10 * 60_000);
  host.isDown = false;
  const { attempts } = host;
  // Longer than the longest wait, and not yet as long as a stream may be silent.
  await vi.advanceTimersByTimeAsync(40_000);

  expect(host.open).toBe(1);
  expect(host.attempts - attempts).toBe(1);
  await transport.close();
  expect(vi.getTimerCount()).toBe(0);
});

test("a stream is not taken for dead before the host has missed several of the signs of life it promised", async () => {
  const { host, transport } = await connect({ [keepAliveHeader]: "60000" });

  await vi.advanceTimersByTimeAsync(179_000);
  expect(host.attempts).toBe(1);

  await vi.advanceTimersByTimeAsync(2_000);
  expect(host.attempts).toBe(2);
  await transport.close();
});
