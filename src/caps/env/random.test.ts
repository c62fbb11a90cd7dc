import fc from "fast-check";
import { expect, test } from "vitest";
import { SeededRandom } from "./random.ts";

const draws = (random: SeededRandom, count = 20) => Array.from({ length: count }, () => random.next());

test("a seed gives the same numbers on every machine", () => {
  expect(draws(new SeededRandom(42), 3)).toEqual([0.43063238995782416, 0.02768801828187406, 0.03377833780475503]);
});

test("different seeds give different numbers, even if they differ above 32 bits or in their sign", () => {
  const seeds = [0, 1, 2, -1, 2 ** 32, 2 ** 40 + 1, -(2 ** 40), Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
  expect(new Set(seeds.map((seed) => draws(new SeededRandom(seed), 2).join())).size).toBe(seeds.length);
});

test("a saved state continues where it was saved, also through JSON", () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.nat(50), (seed, skipped) => {
      const random = new SeededRandom(seed);
      draws(random, skipped);
      const saved = JSON.parse(JSON.stringify(random.state));
      expect(draws(SeededRandom.from(saved))).toEqual(draws(random));
    }),
  );
});

test("numbers stay in their range and cover all of it", () => {
  const random = new SeededRandom(7);
  const drawn = Array.from({ length: 10_000 }, () => random.next());
  expect(drawn.every((value) => value >= 0 && value < 1)).toBe(true);
  expect(drawn.reduce((sum, value) => sum + value, 0) / drawn.length).toBeCloseTo(0.5, 1);
  expect(new Set(Array.from({ length: 200 }, () => random.integer(6)))).toEqual(new Set([0, 1, 2, 3, 4, 5]));
  const normal = Array.from({ length: 10_000 }, () => random.normal());
  expect(normal.reduce((sum, value) => sum + value, 0) / normal.length).toBeCloseTo(0, 1);
  expect(normal.every(Number.isFinite)).toBe(true);
});
