import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startRegularWork } from "./regular-work.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("work runs at once and then regularly, also after a run that failed, until it is closed", async () => {
  const errors: unknown[] = [];
  let runs = 0;
  const regular = startRegularWork({
    work() {
      runs += 1;
      if (runs === 2) throw new Error("second run");
    },
    everyMs: 1000,
    onError: (error) => errors.push(error),
  });
  expect(runs).toBe(1);

  await vi.advanceTimersByTimeAsync(2000);
  expect(runs).toBe(3);
  expect(errors).toEqual([new Error("second run")]);

  await regular.close();
  await vi.advanceTimersByTimeAsync(5000);
  expect(runs).toBe(3);
  expect(vi.getTimerCount()).toBe(0);
});

test("a run that takes longer than the interval is not overtaken, and closing waits for it alone", async () => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  let runs = 0;
  let isClosed = false;
  const regular = startRegularWork({
    work() {
      runs += 1;
      return gate;
    },
    everyMs: 1000,
    onError: () => {},
  });
  await vi.advanceTimersByTimeAsync(3000);
  expect(runs).toBe(1);

  const closing = regular.close().then(() => {
    isClosed = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  expect(isClosed).toBe(false);
  open();
  await closing;

  expect(runs).toBe(1);
});
