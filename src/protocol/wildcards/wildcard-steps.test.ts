import * as fc from "fast-check";
import { expect, test } from "vitest";
import { matchesSteps } from "./wildcard-steps.ts";

const matches = (pattern: string, text: string) =>
  matchesSteps(
    text,
    pattern,
    (sign) => sign === "*",
    (sign, character) => sign === character,
  );

test("steps agree with a regular expression, for texts and for lists", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 12 });
  fc.assert(
    fc.property(text, text, (pattern, given) => {
      const expected = new RegExp(`^${pattern.replaceAll("*", "[^]*")}$`).test(given);
      expect(matches(pattern, given)).toBe(expected);
      expect(
        matchesSteps(
          [...given],
          [...pattern],
          (sign) => sign === "*",
          (sign, character) => sign === character,
        ),
      ).toBe(expected);
    }),
  );
});

test("a pattern that would explode as a regular expression takes no more steps than both lengths multiplied", () => {
  const [text, pattern] = ["a".repeat(2000), `${"*a".repeat(200)}*ab`];
  let count = 0;
  const isMatch = matchesSteps(
    text,
    pattern,
    (sign) => sign === "*",
    (sign, character) => {
      count += 1;
      return sign === character;
    },
  );
  expect(isMatch).toBe(false);
  expect(count).toBeLessThan(text.length * pattern.length);
});
