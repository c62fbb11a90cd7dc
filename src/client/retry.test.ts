import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { backoffMs, wait } from "./retry.ts";

describe("backoffMs", () => {
  test("doubles from the first delay to the longest, and is never less than half of it", () => {
    const options = { firstDelayMs: 100, maxDelayMs: 1000 };
    const longest = [1, 2, 3, 4, 5, 6].map((attempt) => backoffMs(attempt, options, () => 1));
    const shortest = [1, 2, 3, 4, 5, 6].map((attempt) => backoffMs(attempt, options, () => 0));
    expect(longest).toEqual([100, 200, 400, 800, 1000, 1000]);
    expect(shortest).toEqual([50, 100, 200, 400, 500, 500]);
  });

  test("stays a finite delay for any attempt", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), (attempt) => {
        const delay = backoffMs(attempt, {});
        expect(delay).toBeGreaterThanOrEqual(50);
        expect(delay).toBeLessThanOrEqual(30_000);
      }),
    );
  });
});

describe("wait", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("resolves in time and leaves neither timer nor listener", async () => {
    const controller = new AbortController();
    const removed = vi.spyOn(controller.signal, "removeEventListener");
    const waiting = wait(100, controller.signal);
    await vi.advanceTimersByTimeAsync(99);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    await waiting;
    expect(vi.getTimerCount()).toBe(0);
    expect(removed).toHaveBeenCalledOnce();
  });

  test("rejects with the signal's reason, at once if it was aborted before", async () => {
    const controller = new AbortController();
    const waiting = wait(100, controller.signal);
    controller.abort("enough");
    await expect(waiting).rejects.toBe("enough");
    await expect(wait(100, controller.signal)).rejects.toBe("enough");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a delay beyond the maximum of a timer waits long instead of not at all", async () => {
    const isOver = vi.fn();
    const controller = new AbortController();
    const waiting = wait(1e12, controller.signal).then(isOver, () => {});
    await vi.advanceTimersByTimeAsync(60_000);
    expect(isOver).not.toHaveBeenCalled();
    controller.abort();
    await waiting;
  });
});
