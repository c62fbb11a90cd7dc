import { expect, test } from "vitest";
import { parseExpiry } from "./expiry.ts";

const now = Date.parse("2026-05-04T10:00:00Z");

test.each([
  ["90s", "2026-05-04T10:01:30.000Z"],
  ["15m", "2026-05-04T10:15:00.000Z"],
  ["12h", "2026-05-04T22:00:00.000Z"],
  ["30d", "2026-06-03T10:00:00.000Z"],
  ["2030-01-31", "2030-01-31T00:00:00.000Z"],
  ["2030-01-31T12:00:00Z", "2030-01-31T12:00:00.000Z"],
])("%s is a time in the future", (text, time) => {
  expect(new Date(parseExpiry(text, now)).toISOString()).toBe(time);
});

test.each(["", "soon", "5", "0s", "-5m", "1y", "2020-01-01", "2030-99-99", "9999999999999d"])(
  "%j is not accepted as a time in the future",
  (text) => {
    expect(() => parseExpiry(text, now)).toThrow("such as 90s, 15m, 12h, 30d or 2030-01-31");
  },
);
