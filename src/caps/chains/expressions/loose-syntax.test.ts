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

test("twenty times the quotes take nowhere near four hundred times as long", () => {
  for (const part of ['<""', '""', `''`, "``", '"" ']) {
    timeOf(part.repeat(2000));
    expect(timeOf(part.repeat(40_000))).toBeLessThan(120 * timeOf(part.repeat(2000)) + 20);
  }
});
