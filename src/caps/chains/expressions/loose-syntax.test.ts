import { expect, test } from "vitest";
import { toStrictSyntax } from "./loose-syntax.ts";

/** Milliseconds, at best: whatever else the machine does adds to it. */
function timeOf(text: string): number {
  const times = Array.from({ length: 5 }, () => {
    const before = performance.now();
    toStrictSyntax(text);
    return performance.now() - before;
  });
  return Math.min(...times);
}

test("ten times the quotes take about ten times as long", () => {
  for (const part of ['<""', '""', `''`, "``", '"" ']) {
    timeOf(part.repeat(3000));
    expect(timeOf(part.repeat(30_000))).toBeLessThan(40 * timeOf(part.repeat(3000)) + 5);
  }
});
