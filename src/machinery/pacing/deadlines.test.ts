import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createCapturedLog } from "../../testing/captured-log.ts";
import { createDeadlines } from "./deadlines.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
});

afterEach(() => {
  vi.useRealTimers();
});

const due = (afterMs: number, expire = vi.fn()) => ({
  id: "1",
  session: { id: "session" },
  expiresAt: performance.now() + afterMs,
  expire,
});

test("an item expires once, when its time has come and not before", () => {
  const deadlines = createDeadlines();
  const [soon, later] = [due(100), due(1_000)];
  deadlines.add(soon);
  deadlines.add(later);
  vi.advanceTimersByTime(75);
  expect(soon.expire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(50);
  expect(soon.expire).toHaveBeenCalledOnce();
  vi.advanceTimersByTime(5_000);
  expect(soon.expire).toHaveBeenCalledOnce();
  expect(later.expire).toHaveBeenCalledOnce();
});

test("an item that is taken away does not expire", () => {
  const deadlines = createDeadlines();
  const item = due(100);
  deadlines.add(item);
  deadlines.delete(item);
  deadlines.delete(item);
  vi.advanceTimersByTime(1_000);
  expect(item.expire).not.toHaveBeenCalled();
});

test("a time that is moved counts as it stands when it is looked at", () => {
  const deadlines = createDeadlines();
  const item = due(100);
  deadlines.add(item);
  vi.advanceTimersByTime(50);
  item.expiresAt += 1_000;
  vi.advanceTimersByTime(500);
  expect(item.expire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1_000);
  expect(item.expire).toHaveBeenCalledOnce();
});

test("an item may take others away, or add some, as it expires", () => {
  const deadlines = createDeadlines();
  const victim = due(10);
  const successor = due(200);
  const first = due(
    10,
    vi.fn(() => {
      deadlines.delete(victim);
      deadlines.add(successor);
    }),
  );
  deadlines.add(first);
  deadlines.add(victim);
  vi.advanceTimersByTime(1_000);
  expect(victim.expire).not.toHaveBeenCalled();
  expect(successor.expire).toHaveBeenCalledOnce();
});

test("one timer serves all, and none is left when nothing is due or all is closed", () => {
  const deadlines = createDeadlines();
  const items = Array.from({ length: 100 }, () => due(100));
  for (const item of items) deadlines.add(item);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(200);
  expect(vi.getTimerCount()).toBe(0);
  const last = due(100);
  deadlines.add(last);
  deadlines.close();
  deadlines.close();
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(1_000);
  expect(last.expire).not.toHaveBeenCalled();
});

test("an item that fails as it expires keeps no other waiting, and is in the log", () => {
  const log = createCapturedLog();
  const deadlines = createDeadlines(log);
  const failing = due(
    10,
    vi.fn(() => {
      throw new Error("it sticks");
    }),
  );
  const next = due(10);
  deadlines.add(failing);
  deadlines.add(next);
  vi.advanceTimersByTime(1_000);
  expect(failing.expire).toHaveBeenCalledOnce();
  expect(next.expire).toHaveBeenCalledOnce();
  expect(log.entries).toMatchObject([{ level: "error", fields: { error: { message: "it sticks" } } }]);
});
