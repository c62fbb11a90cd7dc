import fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";
import { copyJson, jsonObject, jsonValue } from "../../../protocol/json.ts";
import { createComparison, isSameJson } from "./same-json.ts";

const schema = z.array(
  z.object({
    id: z.string(),
    count: z.int().optional(),
    kind: z.enum(["a", "b"]).nullable().default(null),
    names: z.array(z.string()).optional(),
    input: jsonObject.optional(),
    any: jsonValue.optional(),
    inner: z.object({ flag: z.boolean() }).optional(),
    either: z.union([z.string(), z.number()]).optional(),
  }),
);

const small = fc.jsonValue({ maxDepth: 2 });
const element = fc.record(
  {
    id: fc.constantFrom("", "a", "b"),
    count: fc.nat(1),
    kind: fc.constantFrom("a" as const, "b" as const, null),
    names: fc.array(fc.constantFrom("a", "b"), { maxLength: 2 }),
    input: fc.dictionary(fc.constantFrom("x", "y"), small),
    any: small,
    inner: fc.record({ flag: fc.boolean() }),
    either: fc.oneof(fc.constant("a"), fc.nat(1)),
  },
  { requiredKeys: ["id"] },
);
const anyValue = fc.array(element, { maxLength: 3 });

test("two values of a schema are equal if their JSON is, in any order of fields", () => {
  const isSame = createComparison(schema);
  const sorted = (value: unknown): unknown =>
    typeof value !== "object" || value === null
      ? value
      : Array.isArray(value)
        ? value.map(sorted)
        : Object.fromEntries(
            Object.entries(value)
              .sort(([one], [other]) => (one < other ? -1 : 1))
              .map(([key, item]) => [key, sorted(item)]),
          );
  fc.assert(
    fc.property(anyValue, anyValue, (first, second) => {
      const [one, other] = [schema.parse(first), schema.parse(second)];
      const expected = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
      expect([isSame(one, other), isSameJson(one, other)]).toEqual([expected, expected]);
      expect([isSame(one, copyJson(one)), isSameJson(one, copyJson(one))]).toEqual([true, true]);
    }),
    { numRuns: 2000 },
  );
});

test("a single difference at any place is detected", () => {
  const isSame = createComparison(schema);
  const full = () => ({
    id: "a",
    count: 1,
    kind: "a" as const,
    names: ["a"],
    input: { x: [1, { y: null }] },
    any: "text",
    inner: { flag: true },
    either: 7,
  });
  const others: object[] = [
    { id: "b" },
    { count: undefined },
    { kind: null },
    { names: ["a", "a"] },
    { input: { x: [1, { y: 0 }] } },
    { input: { x: [1, { y: null, z: 1 }] } },
    { any: undefined },
    { inner: { flag: false } },
    { inner: undefined },
    { either: "7" },
  ];
  expect(isSame([full()], [full()])).toBe(true);
  for (const other of others) {
    expect(isSame([full()], [{ ...full(), ...other }])).toBe(false);
    expect(isSame([{ ...full(), ...other }], [full()])).toBe(false);
  }
  expect(isSame([full()], [full(), full()])).toBe(false);
});
