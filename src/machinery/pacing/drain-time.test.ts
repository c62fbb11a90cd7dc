import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DrainTime } from "./drain-time.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});

afterEach(() => {
  vi.useRealTimers();
});

test("a drain is over when its time is, and not before", () => {
  const time = new DrainTime(100);
  vi.advanceTimersByTime(99);
  expect(time.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(time.signal.aborted).toBe(true);
});

test("it can be shortened, counted from then, and not lengthened", () => {
  const time = new DrainTime(100);
  vi.advanceTimersByTime(10);
  time.shorten(50);
  time.shorten(51);
  vi.advanceTimersByTime(49);
  expect(time.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(time.signal.aborted).toBe(true);
});

test("no time at all is over at once", () => {
  expect(new DrainTime(0).signal.aborted).toBe(true);
});

test("one that is cleared leaves no timer, also where somebody shortens it afterwards", () => {
  const time = new DrainTime(100);
  time.clear();
  time.shorten(50);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([2 ** 40, Number.POSITIVE_INFINITY])(
  "a time of %d ms, longer than a timer can wait, is not over at once",
  (ms) => {
    const time = new DrainTime(ms);
    vi.advanceTimersByTime(86_400_000);
    expect(time.signal.aborted).toBe(false);
    time.clear();
  },
);
