import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { tables } from "../../caps/tables.generated.ts";
import { acceptedCap, core, errorPayload, eventPayload, shutdownPayload } from "../core.ts";
import { jsonObject, jsonValue } from "../json.ts";
import type { Capability } from "./capability.ts";
import { createFastParser } from "./fast-parse.ts";

/** Values that a schema mostly accepts, often wrong in a single place. With `isWhole`, no field is missing. */
function valueFor(schema: z.ZodType, depth = 8, isWhole = false): fc.Arbitrary<unknown> {
  if (depth === 0) return fc.constant([]);
  const definition = schema._zod.def as unknown as {
    type: string;
    innerType: z.ZodType;
    element: z.ZodType;
    shape: Record<string, z.ZodType>;
    valueType: z.ZodType;
  };
  const wrong = fc.constantFrom<unknown>(
    null,
    undefined,
    0,
    -1,
    1.5,
    "",
    "text",
    true,
    [],
    {},
    [null],
    Number.NaN,
    1e300,
    new Date(0),
  );
  const right = (): fc.Arbitrary<unknown> => {
    if (schema._zod.def === jsonObject._zod.def) return fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 });
    if (schema._zod.def === jsonValue._zod.def) return fc.jsonValue();
    switch (definition.type) {
      case "string":
        return fc.string();
      case "boolean":
        return fc.boolean();
      case "number":
        return fc.oneof(fc.integer(), fc.double(), fc.nat({ max: 64 }));
      case "enum":
        return fc.constantFrom(...(schema._zod.values ?? [""]));
      case "nullable":
        return fc.oneof(fc.constant(null), valueFor(definition.innerType, depth - 1, isWhole));
      case "optional":
      case "default":
        return fc.oneof(fc.constant(undefined), valueFor(definition.innerType, depth - 1, isWhole));
      case "array":
        return fc.array(valueFor(definition.element, depth - 1, isWhole), { maxLength: 3 });
      case "record":
        return fc.dictionary(fc.string(), valueFor(definition.valueType, depth - 1, isWhole), { maxKeys: 3 });
      case "object": {
        const fields = Object.entries(definition.shape).map(
          ([key, field]) => [key, valueFor(field, depth - 1, isWhole)] as const,
        );
        const record = { ...Object.fromEntries(fields), unknown_field: fc.jsonValue() };
        return isWhole ? fc.record(record) : fc.record(record, { requiredKeys: [] });
      }
      default:
        return fc.jsonValue();
    }
  };
  return fc.oneof({ arbitrary: right(), weight: 30 }, { arbitrary: wrong, weight: 1 });
}

function expectSameVerdict(schema: z.ZodType, value: unknown): void {
  const fast = createFastParser(schema)(value);
  if (fast === undefined) return;
  const slow = schema.safeParse(value);
  expect(slow.error?.issues).toBeUndefined();
  // Neither fields that are undefined nor the order of fields are part of the value.
  expect(fast).toEqual(slow.data);
}

const capabilities: Capability[] = [core, ...Object.values(tables)];
const schemas: [string, z.ZodType][] = [
  ["accepted capability", acceptedCap],
  ["event", eventPayload],
  ["error", errorPayload],
  ["shutdown", shutdownPayload],
  ...capabilities.flatMap((capability) => [
    ...Object.values(capability.calls).flatMap((call): [string, z.ZodType][] => [
      [call.type, call.request],
      [call.responseType, call.result],
    ]),
    ...Object.values(capability.pushes).map((push): [string, z.ZodType] => [push.type, push.payload]),
  ]),
];

test("bounds of numbers and texts are Zod's, at and around them", () => {
  const schema = z.object({
    least: z.number().min(2).optional(),
    above: z.number().gt(2).optional(),
    most: z.int().max(5).optional(),
    below: z.number().lt(5).optional(),
    text: z.string().min(2).max(5).optional(),
  });
  const around = fc.constantFrom(1, 2, 2.5, 3, 4, 5, 5.5, 6, -0, Number.NaN);
  const text = fc.string({ minLength: 0, maxLength: 7 });
  const fast = createFastParser(schema);
  let taken = 0;
  fc.assert(
    fc.property(
      fc.record({ least: around, above: around, most: around, below: around, text }, { requiredKeys: [] }),
      (value) => {
        expect(fast(value) !== undefined).toBe(schema.safeParse(value).success);
        if (fast(value) !== undefined) taken += 1;
      },
    ),
    { numRuns: 1000 },
  );
  expect(taken).toBeGreaterThan(0);
});

describe("for the schemas of the tables", () => {
  test.each(schemas)("%s: the fast parser returns the same value as Zod, or leaves it to Zod", (_, schema) => {
    fc.assert(fc.property(valueFor(schema), (value) => expectSameVerdict(schema, value)));
  });

  test.each(schemas)("%s: the fast parser accepts valid values itself instead of leaving them to Zod", (_, schema) => {
    const fast = createFastParser(schema);
    let taken = 0;
    fc.assert(
      fc.property(valueFor(schema, 8, true), (value) => {
        if (schema.safeParse(value).success && fast(value) !== undefined) taken += 1;
      }),
    );
    expect(taken).toBeGreaterThan(0);
  });

  test.each(capabilities.flatMap((capability) => Object.values(capability.calls)))(
    "the examples of $type are taken without asking Zod",
    ({ request, result, example }) => {
      expect(createFastParser(request)(example.request)).toEqual(request.parse(example.request));
      expect(createFastParser(result)(example.result)).toEqual(result.parse(example.result));
    },
  );
});

interface Tree {
  name: string;
  children: Tree[];
}
const tree: z.ZodType<Tree> = z.object({
  name: z.string(),
  get children() {
    return z.array(tree);
  },
});

describe("for other schemas that a plugin's table may declare", () => {
  const inner = z.object({ a: z.string(), b: z.number().optional() });
  test.each<[string, z.ZodType]>([
    ["checks", z.object({ a: z.string().min(2).max(4), b: z.number().min(0), c: z.array(z.string()).max(2) })],
    ["text that is changed", z.object({ a: z.string().trim(), b: z.string().toLowerCase(), c: z.coerce.string() })],
    ["formats", z.object({ a: z.email(), b: z.int32(), c: z.uuid().optional() })],
    ["strict objects", z.strictObject({ a: z.string().default("") })],
    ["loose objects", z.looseObject({ a: z.string().default("") })],
    ["catch-alls", z.object({ a: z.string() }).catchall(z.number())],
    ["unions", z.object({ a: z.union([z.string(), z.number()]), b: z.literal("x").default("x") })],
    ["a default within an option", z.object({ a: z.string().default("filled").optional() })],
    ["an option within a default", z.object({ a: z.string().optional().default("filled") })],
    [
      "null within an option and back",
      z.object({ a: z.string().nullable().optional(), b: z.string().optional().nullable() }),
    ],
    ["exact options", z.object({ a: z.string().exactOptional() })],
    ["enums of numbers", z.object({ a: z.enum({ Low: 0, 0: "Low", High: 1, 1: "High" } as unknown as { Low: 0 }) })],
    [
      "defaults that JSON cannot spell",
      z.object({ a: z.number().default(Number.POSITIVE_INFINITY), b: z.date().default(new Date(0)) }),
    ],
    ["nested defaults", z.object({ a: inner.default({ a: "x" }), b: z.array(inner).default([{ a: "y", b: 1 }]) })],
    [
      "prefaults, catches, pipes",
      z.object({
        a: z.string().prefault("p"),
        b: z.string().catch("c"),
        c: z.string().transform((text) => text.length),
      }),
    ],
    [
      "records and tuples",
      z.object({ a: z.record(z.string(), inner), b: z.tuple([z.string(), z.number()]).optional() }),
    ],
    ["refined objects", z.object({ a: z.string().default("") }).refine((value) => value.a !== "text")],
    ["trees", tree],
    [
      "odd field names",
      z.object({ 'a"b': z.string(), "c-d\n": z.string().optional(), constructor: z.unknown(), "": z.boolean() }),
    ],
    [
      "a field named __proto__",
      z.object(JSON.parse('{"__proto__":1,"a":1}', (key, value) => (value === 1 ? z.string().default(key) : value))),
    ],
  ])("%s: never more than Zod accepts, never another value", (_, schema) => {
    fc.assert(
      fc.property(valueFor(schema), (value) => expectSameVerdict(schema, value)),
      { numRuns: 300 },
    );
    for (const value of [{}, { a: undefined }, { a: null }, { a: "Low" }, { a: 0 }, { a: 1 }, { a: " X " }])
      expectSameVerdict(schema, value);
  });

  test("a tree that contains itself is parsed all the way down", () => {
    const parse = createFastParser(tree);
    const value = { name: "a", children: [{ name: "b", children: [{ name: "c", children: [] }] }] };
    expect(parse(value)).toEqual(value);
    expect(parse({ name: "a", children: [{ name: "b", children: [{ name: 1, children: [] }] }] })).toBeUndefined();
  });

  test("a default that a function makes is made anew each time", () => {
    let count = 0;
    const parse = createFastParser(z.object({ a: z.number().default(() => ++count) }));
    const first = parse({}) as { a: number };
    const second = parse({}) as { a: number };
    expect(second.a).toBe(first.a + 1);
  });
});

describe("the returned value", () => {
  const schema = z.object({
    free: jsonObject.default({}),
    any: jsonValue.nullable().default(null),
    list: z.array(z.object({ tags: z.array(z.string()).default([]) })).default([]),
  });
  const parse = createFastParser(schema);

  test("shares no object with the input", () => {
    const input = { free: { a: { b: 1 } }, any: [1], list: [{ tags: ["x"] }] };
    const output = parse(input) as typeof input;
    const before = structuredClone(input);
    input.free.a.b = 2;
    input.any.push(2);
    input.list[0]?.tags.push("y");
    expect(output).toEqual(before);
    output.list[0]?.tags.push("z");
    expect(input.list[0]?.tags).toEqual(["x", "y"]);
  });

  test("shares no default with the next", () => {
    const first = parse({}) as { free: Record<string, unknown>; list: unknown[] };
    first.free.a = 1;
    first.list.push(1);
    expect(parse({})).toEqual({ free: {}, any: null, list: [] });
  });

  test("holds the checked value, even if a getter returns another value each time", () => {
    let reads = 0;
    const hostile = {
      get name() {
        reads += 1;
        return reads === 1 ? "text" : { evil: true };
      },
    };
    expect(createFastParser(z.object({ name: z.string() }))(hostile)).toEqual({ name: "text" });
  });

  test("holds no prototype of the sender's, and no __proto__", () => {
    const output = parse({ free: JSON.parse('{"__proto__":{"isAdmin":true},"a":1}') }) as { free: object };
    expect(Reflect.ownKeys(output.free)).toEqual(["a"]);
    expect(Object.getPrototypeOf(output.free)).toBe(Object.prototype);
  });
});

describe("if generated code is forbidden", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  test("all is left to Zod", () => {
    vi.stubGlobal("Function", function Forbidden() {
      throw new EvalError("Refused to evaluate a string as JavaScript");
    });
    expect(createFastParser(errorPayload)({ code: "timeout" })).toBeUndefined();
  });
});
