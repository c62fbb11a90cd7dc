import { expect, test } from "vitest";
import { toStrictSyntax } from "./loose-syntax.ts";

// Takes a second in linear time, and minutes in quadratic time.
test("the time for an expression with very many quotes grows linearly", () => {
  const many = 100_000;
  for (const part of ['""', `''`, "``", '"" '])
    expect(toStrictSyntax(part.repeat(many)) === part.repeat(many), part).toBe(true);
  expect(toStrictSyntax('<""'.repeat(many)) === '<`""`'.repeat(many)).toBe(true);
});
