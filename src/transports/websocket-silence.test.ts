import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { cutWhenSilent } from "./websocket/websocket-node.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function start() {
  const terminate = vi.fn();
  const socket = Object.assign(new EventEmitter(), { terminate });
  cutWhenSilent(socket);
  return { socket, terminate };
}

test.each([15_000, 60_000])("a host that pinged every %i ms and pings no more is left", (everyMs) => {
  const { socket, terminate } = start();
  for (let count = 0; count < 10; count++) {
    vi.advanceTimersByTime(everyMs);
    socket.emit("ping");
    // A late ping.
    if (count === 4) socket.emit("ping");
  }
  vi.advanceTimersByTime(3 * everyMs - 1);
  expect(terminate).not.toHaveBeenCalled();

  vi.advanceTimersByTime(1);
  expect(terminate).toHaveBeenCalledOnce();
});

test("a host that does not ping may be silent, and a link that is closed is left alone", () => {
  const silent = start();
  const closed = start();
  silent.socket.emit("ping");
  for (let count = 0; count < 2; count++) closed.socket.emit("ping");
  closed.socket.emit("close");

  vi.advanceTimersByTime(3_600_000);

  expect(silent.terminate).not.toHaveBeenCalled();
  expect(closed.terminate).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});
