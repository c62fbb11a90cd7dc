import { expect, test } from "vitest";
import { toStrictSyntax } from "./loose-syntax.ts";

// A second for all of them where each quote is looked at once. Where each means looking at all those before it, minutes.
test("very many quotes take no longer than their number", () => {
  const many = 100_000;
  for (const part of ['""', `''`, "``", '"" '])
    expect(toStrictSyntax(part.repeat(many)) === part.repeat(many), part).toBe(true);
  expect(toStrictSyntax('<""'.repeat(many)) === '<`""`'.repeat(many)).toBe(true);
});
