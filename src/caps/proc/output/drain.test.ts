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

test("those that hold the output open are ended in time, and what is still in the pipe is waited for", () => {
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

test("a host that was busy for long reads what there is before it gives up", () => {
  const { endOthers, giveUp } = start();
  // One late turn of the timer, as after a block of the event loop.
  vi.advanceTimersToNextTimer();
  expect([endOthers.mock.calls.length, giveUp.mock.calls.length]).toEqual([0, 0]);
});

test("while nobody reads, nothing is given up", () => {
  const { port, endOthers, giveUp } = start();
  port.held = true;
  vi.advanceTimersByTime(60_000);
  expect([endOthers.mock.calls.length, giveUp.mock.calls.length]).toEqual([0, 0]);
});

test("output that never ends is given up in the end", () => {
  const { port, giveUp } = start();
  for (let count = 0; count < 200; count++) {
    port.bytes += 1;
    vi.advanceTimersByTime(50);
  }
  expect(giveUp).toHaveBeenCalledOnce();
});

test("output that has come to its end is not waited for", () => {
  const { stop } = start();
  stop();
  expect(vi.getTimerCount()).toBe(0);
});
