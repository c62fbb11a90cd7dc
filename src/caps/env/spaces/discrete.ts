import type { Space } from "./space.ts";

/** The `n` integers from `start` on. */
export function discrete(n: number, start = 0): Space<number> {
  if (!Number.isSafeInteger(n) || n < 1) throw new RangeError("a discrete space has at least one value");
  if (!Number.isSafeInteger(start)) throw new RangeError("a discrete space starts at a whole number");
  const end = start + n;
  return {
    form: { type: "discrete", n, start },
    schema: { type: "integer", minimum: start, maximum: end - 1 },
    contains: (value): value is number => Number.isInteger(value) && Number(value) >= start && Number(value) < end,
    sample: (random) => start + random.integer(n),
  };
}

/** One string of a list. */
export function choice<const Choice extends string>(choices: readonly Choice[]): Space<Choice> {
  if (choices.length === 0) throw new RangeError("a choice has at least one value");
  const known = new Set<unknown>(choices);
  return {
    form: { type: "choice", choices: [...choices] },
    schema: { type: "string", enum: [...choices] },
    contains: (value): value is Choice => known.has(value),
    sample: (random) => choices[random.integer(choices.length)] as Choice,
  };
}

/** A list of integers, each from 0 up to, but not including, its own bound. */
export function multiDiscrete(bounds: readonly number[]): Space<number[]> {
  const parts = bounds.map((bound) => discrete(bound));
  return {
    form: { type: "multi_discrete", nvec: [...bounds] },
    schema: {
      type: "array",
      prefixItems: parts.map(({ schema }) => schema),
      minItems: bounds.length,
      maxItems: bounds.length,
    },
    contains: (value): value is number[] =>
      Array.isArray(value) && value.length === parts.length && parts.every((part, at) => part.contains(value[at])),
    sample: (random) => parts.map((part) => part.sample(random)),
  };
}

/** A list of zeros and ones. */
export function multiBinary(n: number): Space<number[]> {
  const bits = multiDiscrete(new Array<number>(n).fill(2));
  const bit = { type: "integer", minimum: 0, maximum: 1 };
  return {
    ...bits,
    form: { type: "multi_binary", n },
    schema: { type: "array", items: bit, minItems: n, maxItems: n },
  };
}
