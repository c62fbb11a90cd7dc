import { expect, test, vi } from "vitest";
import { createBackoff } from "./backoff.ts";

test("the first attempt is made at once, later attempts after waits that double up to the maximum", () => {
  const backoff = createBackoff({ random: () => 1 });
  const waits = Array.from({ length: 12 }, () => backoff.next());
  expect(waits).toEqual([0, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
  backoff.proven();
  expect(backoff.next()).toBe(0);
});

test("the waits keep growing for a link that is cut as soon as it opens, and restart for a link that stayed open", () => {
  const now = vi.spyOn(performance, "now").mockReturnValue(0);
  const backoff = createBackoff({ random: () => 1 });
  const waits = Array.from({ length: 4 }, () => {
    backoff.opened();
    return backoff.next();
  });
  expect(waits).toEqual([0, 100, 200, 400]);

  backoff.opened();
  now.mockReturnValue(1_000);
  expect(backoff.next()).toBe(0);
  now.mockRestore();
});

test("half of each wait is left to chance", () => {
  const backoff = createBackoff({ random: () => 0 });
  expect([backoff.next(), backoff.next(), backoff.next()]).toEqual([0, 50, 100]);
});

test("a link that was down for too long is given up, counted from the first failure", () => {
  const now = vi.spyOn(performance, "now").mockReturnValue(0);
  const backoff = createBackoff({ giveUpAfterMs: 1_000 });
  expect(backoff.next()).toBe(0);
  now.mockReturnValue(999);
  expect(backoff.next()).toBe(1);
  now.mockReturnValue(1_000);
  expect(backoff.next()).toBeUndefined();
  now.mockRestore();
});
