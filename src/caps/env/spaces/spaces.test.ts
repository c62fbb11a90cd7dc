import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { SeededRandom } from "../random.ts";
import { box } from "./box.ts";
import { actions, dict, tuple } from "./composite.ts";
import { choice, discrete, multiBinary, multiDiscrete } from "./discrete.ts";
import { spaceFrom } from "./from-form.ts";
import { optional, type Space, type ValueOf } from "./space.ts";
import { text } from "./text.ts";

const infinity = Number.POSITIVE_INFINITY;

const spaces: Record<string, Space> = {
  discrete: discrete(5),
  "discrete from -2": discrete(4, -2),
  choice: choice(["left", "right"]),
  "multi-discrete": multiDiscrete([2, 5, 1]),
  "multi-binary": multiBinary(4),
  "a single number": box(-1, 1),
  "a whole number": box(0, 9, { isInteger: true }),
  "a whole number between halves": box(0.5, 3.5, { isInteger: true }),
  "a whole number from a half on": box(0.5, infinity, { isInteger: true }),
  "numbers as far apart as can be": box(-Number.MAX_VALUE, Number.MAX_VALUE),
  "an unbounded number": box(-infinity, infinity),
  "numbers bounded on one side": box([0, -infinity], [infinity, 3], { shape: [2] }),
  "a matrix": box(0, 1, { shape: [2, 3] }),
  text: text({ minLength: 1, maxLength: 8 }),
  "text of few characters": text({ maxLength: 5, charset: "ab]^-\\" }),
  dict: dict({ speed: box(0, 10), gear: optional(discrete(6)) }),
  tuple: tuple([discrete(2), text({ maxLength: 3 })]),
  actions: actions({ inc: { amount: optional(box(0, 9, { isInteger: true })) }, stop: {} }),
  "all in one": dict({ inner: tuple([dict({ x: multiBinary(2) }), actions({ a: { b: choice(["c"]) } })]) }),
};

describe.each(Object.entries(spaces))("%s", (_, space) => {
  const validate = new Ajv2020({ strict: false }).compile(space.schema);

  test("contains its samples, and so does its JSON Schema", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (seed) => {
        const sample = space.sample(new SeededRandom(seed));
        expect(space.contains(sample), JSON.stringify(sample)).toBe(true);
        expect(validate(sample), JSON.stringify(sample)).toBe(true);
        expect(JSON.parse(JSON.stringify(sample))).toEqual(sample);
      }),
      { numRuns: 50 },
    );
  });

  test("agrees with its JSON Schema on any value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(space.contains(value)).toBe(validate(value));
      }),
    );
  });

  test("is rebuilt from its description", () => {
    const again = spaceFrom(JSON.parse(JSON.stringify(space.form)));
    expect(again.form).toEqual(space.form);
    expect(again.schema).toEqual(space.schema);
    expect(again.sample(new SeededRandom(3))).toEqual(space.sample(new SeededRandom(3)));
  });
});

test.each([
  [discrete(2), [2, -1, 0.5, "0", null, true, [0]]],
  [choice(["a"]), ["b", 0, null]],
  [multiDiscrete([2, 2]), [[0], [0, 2], [0, 1, 0], "01"]],
  [box(0, 1), [-0.1, 1.1, Number.NaN, infinity, "0", [0]]],
  [box(0, 1, { shape: [2] }), [[0], [0, 1, 0], [0, "1"], 0]],
  [text({ minLength: 1, maxLength: 2 }), ["", "abc", 1]],
  [dict({ a: discrete(2) }), [{}, { a: 2 }, { a: 0, b: 0 }, [0], null]],
  [tuple([discrete(2)]), [[], [2], [0, 0]]],
  [
    actions({ go: { to: choice(["n"]) } }),
    [{ type: "go" }, { type: "stay" }, { type: "go", to: "s" }, { type: "toString" }, "go"],
  ],
])("a space does not contain values outside of it", (space: Space, outside: unknown[]) => {
  for (const value of outside) expect(space.contains(value), JSON.stringify(value)).toBe(false);
});

test("the length of a text is counted in characters", () => {
  expect(text({ maxLength: 1 }).contains("🙂")).toBe(true);
});

test("samples of a box are spread between its bounds, even if the bounds are very far apart", () => {
  const { MAX_VALUE } = Number;
  const random = new SeededRandom(1);
  const signs = Array.from({ length: 50 }, () => Math.sign(box(-MAX_VALUE, MAX_VALUE).sample(random)));
  expect(new Set(signs)).toEqual(new Set([1, -1]));
});

test("impossible spaces and invalid descriptions are rejected", () => {
  for (const make of [
    () => discrete(0),
    () => discrete(1.5),
    () => choice([]),
    () => box(1, 0),
    () => box([0], 1, { shape: [2] }),
    () => box(0.2, 0.8, { isInteger: true }),
    () => box(infinity, infinity),
    () => box(-infinity, -infinity),
    () => text({ minLength: 3, maxLength: 2 }),
    () => actions({}),
    () => actions({ go: { type: discrete(2) } }),
    () => spaceFrom({ type: "sphere" }),
    () => spaceFrom({ type: "discrete", n: "2" }),
    () => spaceFrom(null),
  ])
    expect(make).toThrow();
});

test("the types of values come from the spaces", () => {
  const space = dict({ gear: choice(["low", "high"]), boost: optional(box(0, 1)), path: box(0, 1, { shape: [3] }) });
  expectTypeOf<ValueOf<typeof space>["gear"]>().toEqualTypeOf<"low" | "high">();
  expectTypeOf<ValueOf<typeof space>["path"]>().toEqualTypeOf<number[]>();
  expectTypeOf<ValueOf<typeof space>["boost"]>().toEqualTypeOf<number | undefined>();
  const pair = tuple([discrete(2), text({ maxLength: 1 })]);
  expectTypeOf<ValueOf<typeof pair>>().toEqualTypeOf<[number, string]>();
  const commands = actions({ inc: { by: discrete(3) }, stop: {} });
  expectTypeOf<ValueOf<typeof commands>["type"]>().toEqualTypeOf<"inc" | "stop">();
});
