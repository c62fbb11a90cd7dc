import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startDrain } from "./drain.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function start() {
  const port = { held: false, bytes: 0, isHeld: () => port.held, bytesRead: () => port.bytes };
  const [endOthers, giveUp] = [vi.fn(), vi.fn()];
  const stop = startDrain({ ...port, isHeld: () => port.held, bytesRead: () => port.bytes, endOthers, giveUp }, 500);
  return { port, endOthers, giveUp, stop };
}

test("processes that hold the output open are killed, and the rest of the pipe is read", () => {
  const { port, endOthers, giveUp } = start();
  vi.advanceTimersByTime(490);
  expect(endOthers).not.toHaveBeenCalled();
  vi.advanceTimersByTime(10);
  expect(endOthers).toHaveBeenCalledOnce();
  for (let count = 0; count < 20; count++) {
    port.bytes += 1;
    vi.advanceTimersByTime(50);
  }
  expect(giveUp).not.toHaveBeenCalled();
  vi.advanceTimersByTime(500);
  expect(giveUp).toHaveBeenCalledOnce();
});

test("a host that was busy reads the available output before the drain ends", () => {
  const { endOthers, giveUp } = start();
  // A single late tick of the timer, as after a block of the event loop.
  vi.advanceTimersToNextTimer();
  expect([endOthers.mock.calls.length, giveUp.mock.calls.length]).toEqual([0, 0]);
});

test("a drain does not end while reading is paused", () => {
  const { port, endOthers, giveUp } = start();
  port.held = true;
  vi.advanceTimersByTime(60_000);
  expect([endOthers.mock.calls.length, giveUp.mock.calls.length]).toEqual([0, 0]);
});

test("a drain of output that never ends is limited", () => {
  const { port, giveUp } = start();
  for (let count = 0; count < 200; count++) {
    port.bytes += 1;
    vi.advanceTimersByTime(50);
  }
  expect(giveUp).toHaveBeenCalledOnce();
});

test("a drain stops when the output has ended", () => {
  const { stop } = start();
  stop();
  expect(vi.getTimerCount()).toBe(0);
});
