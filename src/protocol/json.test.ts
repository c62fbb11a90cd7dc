import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  copyJson,
  escapeNonAscii,
  isDeeperThan,
  type JsonValue,
  jsonObject,
  jsonValue,
  parseJson,
  writeJson,
} from "./json.ts";

/** Any UTF-16 code unit, halves of pairs included. */
const codeUnit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));

/** JSON keeps an own `__proto__`, and this protocol drops it: the only difference, tested on its own. */
const plainJson = fc.jsonValue().filter((value) => !JSON.stringify(value).includes("__proto__"));

function nest(depth: number): JsonValue {
  let value: JsonValue = [];
  for (let level = 1; level < depth; level++) value = level % 2 === 0 ? [value] : { inner: value };
  return value;
}

describe("parseJson", () => {
  test("reads everything that JSON.stringify writes", () => {
    fc.assert(
      fc.property(plainJson, fc.boolean(), (value, isPretty) => {
        const text = JSON.stringify(value, null, isPretty ? 2 : 0);
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test.each([
    ["NaN", null],
    ["-Infinity", null],
    ['{"reward":NaN,"low":-Infinity,"high":Infinity}', { reward: null, low: null, high: null }],
    ["[NaN,[Infinity],1]", [null, [null], 1]],
    ['{"NaN":NaN}', { NaN: null }],
    ['["NaN, -Infinity and Infinity", NaN]', ["NaN, -Infinity and Infinity", null]],
    ['["a \\" NaN \\\\", NaN, "\\\\"]', ['a " NaN \\', null, "\\"]],
    ['["Infinity\\u0022NaN", Infinity]', ['Infinity"NaN', null]],
  ])("%s is read as Python's encoder means it", (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  test.each([
    "",
    "{",
    "nan",
    "-NaN",
    "+Infinity",
    "--Infinity",
    "1NaN",
    "NaN1",
    "[NaN",
    "{NaN:1}",
    '"NaN',
    "'NaN'",
    "[NaN.5]",
    "undefined",
    '["\\NaN"]',
    "{} NaN",
  ])("%j is refused with a SyntaxError", (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError);
  });

  test("tokens anywhere in any JSON become null, and text that looks like them stays", () => {
    const token = fc.constantFrom("NaN", "Infinity", "-Infinity");
    const text = fc.string({ unit: fc.constantFrom('"', "\\", "NaN", "Infinity", "-", " ", "x", ",", "]", "\u2028") });
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            token,
            text.map((value) => JSON.stringify(value)),
          ),
        ),
        (parts) => {
          const expected = parts.map((part) => (part.startsWith('"') ? JSON.parse(part) : null));
          expect(parseJson(`[${parts.join(",")}]`)).toEqual(expected);
        },
      ),
    );
  });

  test("an unfinished string full of quotes costs a single pass, not one pass per quote", () => {
    // Quadratic work would keep this test busy for hours.
    expect(() => parseJson(`NaN "${'\\"'.repeat(2_000_000)}`)).toThrow(SyntaxError);
  });

  test("a long string beside a token is read whole", () => {
    const long = "\\n".repeat(1_000_000);
    expect(parseJson(`["${long}",NaN]`)).toEqual(["\n".repeat(1_000_000), null]);
  });

  test("an own __proto__ key survives in no spelling and at no depth", () => {
    const letter = (character: string) => {
      const hex = character.charCodeAt(0).toString(16).padStart(4, "0");
      return fc.constantFrom(character, `\\u${hex}`, `\\u${hex.toUpperCase()}`);
    };
    const spelling = fc.tuple(...Array.from("__proto__", letter)).map((letters) => letters.join(""));
    fc.assert(
      fc.property(spelling, fc.constantFrom("{}", "[NaN]", '{"polluted":true}', "null"), (key, inner) => {
        const text = `{"a":[{"${key}":${inner},"kept":1}],"${key}":${inner},"kept":2}`;
        const value = parseJson(text) as { a: [object] };
        expect(Reflect.ownKeys(value)).toEqual(["a", "kept"]);
        expect(Reflect.ownKeys(value.a[0])).toEqual(["kept"]);
        expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
        expect(Object.getPrototypeOf(value.a[0])).toBe(Object.prototype);
      }),
    );
  });

  test("__proto__ as text, and keys that resemble it, are left alone", () => {
    const text = '{"__proto":1,"proto":2,"__PROTO__":3,"constructor":{"prototype":4},"said":"__proto__"}';
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  test("nesting far beyond the call stack is accepted, also with a __proto__ at its bottom", () => {
    const depth = 200_000;
    let value = parseJson(`${"[".repeat(depth)}{"__proto__":1}${"]".repeat(depth)}`);
    for (let level = 0; level < depth; level++) value = (value as JsonValue[])[0] as JsonValue;
    expect(Reflect.ownKeys(value as object)).toEqual([]);
  });
});

describe("isDeeperThan", () => {
  test("counts containers, the outermost included", () => {
    expect(isDeeperThan("text", 0)).toBe(false);
    expect(isDeeperThan(null, 0)).toBe(false);
    expect(isDeeperThan({}, 0)).toBe(true);
    for (const depth of [1, 2, 7, 64]) {
      expect(isDeeperThan(nest(depth), depth)).toBe(false);
      expect(isDeeperThan(nest(depth), depth - 1)).toBe(true);
    }
  });

  test("looks into every field, not only the first", () => {
    expect(isDeeperThan({ a: 1, b: null, c: [[[]]] }, 3)).toBe(true);
    expect(isDeeperThan([1, null, { a: [] }], 2)).toBe(true);
  });

  test("never walks deeper than the limit: a cycle is merely too deep", () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    expect(isDeeperThan(cycle, 64)).toBe(true);
  });
});

describe("copyJson", () => {
  test("returns the same as a round trip through JSON text, for any value", () => {
    const anything = fc.anything({
      withBigInt: false,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withSparseArray: false,
      withNullPrototype: true,
      withObjectString: true,
      maxDepth: 5,
    });
    fc.assert(
      fc.property(anything, (value) => {
        const text = JSON.stringify(value);
        fc.pre(text === undefined || !text.includes("__proto__"));
        expect(copyJson(value)).toStrictEqual(text === undefined ? undefined : JSON.parse(text));
      }),
      { numRuns: 1000 },
    );
  });

  class Money {
    readonly #amount: number;
    constructor(amount: number) {
      this.#amount = amount;
    }
    toJSON() {
      return { amount: this.#amount, at: new Date(0) };
    }
  }

  test.each<[string, unknown]>([
    ["a Date", new Date(1_789_000_000_500)],
    ["an invalid Date", { at: new Date(Number.NaN) }],
    ["negative zero", [-0]],
    ["numbers beyond all bounds", [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e308, 5e-324]],
    [
      "undefined, functions and symbols",
      { a: undefined, b: () => 1, c: Symbol("c"), d: [undefined, () => 1, Symbol("d")] },
    ],
    ["symbol keys and hidden fields", Object.defineProperty({ [Symbol("s")]: 1, a: 1 }, "hidden", { value: 1 })],
    ["holes", new Array(3)],
    ["boxed primitives", [Object("text"), Object(1), Object(false)]],
    ["a class with toJSON", { price: new Money(3), prices: [new Money(4)] }],
    ["an array with toJSON", Object.assign([1], { toJSON: () => "list" })],
    [
      "toJSON that returns itself",
      {
        a: Object.assign(
          { b: 1 },
          {
            toJSON() {
              return this;
            },
          },
        ),
      },
    ],
    ["toJSON that returns nothing", { a: { toJSON: () => undefined }, b: [{ toJSON: () => undefined }] }],
    ["toJSON that is no function", { toJSON: "text" }],
    ["inherited fields", Object.create({ inherited: 1 })],
    ["bytes", new Uint8Array([1, 2])],
    ["lone surrogates", ["\ud800", { "\udc00": 1 }]],
    ["a field named length", { length: 2, 0: "a" }],
  ])("%s: exactly as JSON has it", (_, value) => {
    expect(copyJson(value)).toStrictEqual(JSON.parse(JSON.stringify(value)));
  });

  test("a value without a JSON form is a TypeError", () => {
    const cycle: { self?: unknown } = {};
    cycle.self = { list: [cycle] };
    expect(() => copyJson(cycle)).toThrow(TypeError);
    expect(() => copyJson({ a: [1n] })).toThrow(TypeError);
    expect(() => copyJson({ a: Object(1n) })).toThrow(TypeError);
    const endless: { toJSON(): unknown } = { toJSON: () => ({ again: endless }) };
    expect(() => copyJson(endless)).toThrow(TypeError);
  });

  test("nesting is bounded far above the limit for messages, and the bound is an error, not an overflow", () => {
    expect(copyJson(nest(256))).toEqual(nest(256));
    expect(() => copyJson(nest(257))).toThrow(TypeError);
    expect(() => copyJson(nest(100_000))).toThrow(TypeError);
  });

  test("an own __proto__ is dropped and changes no prototype", () => {
    const hostile = JSON.parse('{"__proto__":{"isAdmin":true},"a":{"__proto__":[1]}}');
    const copy = copyJson(hostile) as { a: object; isAdmin?: boolean };
    expect(copy).toStrictEqual({ a: {} });
    expect(copy.isAdmin).toBeUndefined();
  });

  test("the copy shares no object with the original", () => {
    const original = { list: [{ a: 1 }], object: { b: 2 } };
    const copy = copyJson(original);
    original.list[0] = { a: 9 };
    copy.object.b = 9;
    expect(copy.list).toEqual([{ a: 1 }]);
    expect(original.object.b).toBe(2);
  });

  test("an object in two places becomes two objects", () => {
    const shared = { a: 1 };
    const copy = copyJson({ first: shared, second: shared });
    expect(copy.first).not.toBe(copy.second);
  });
});

describe("the free-form types of tables", () => {
  test.each([undefined, null, 1, "text", [], () => 1, new Date(0), Object("text"), { toJSON: () => [1] }])(
    "%s is not a JSON object",
    (value) => {
      expect(jsonObject.safeParse(value).success).toBe(false);
    },
  );

  test.each([undefined, () => 1, Symbol("s"), { toJSON: () => undefined }])("%s is not a JSON value", (value) => {
    expect(jsonValue.safeParse(value).success).toBe(false);
  });

  test("an error names the expected type once", () => {
    expect(jsonObject.safeParse([]).error?.issues.map((issue) => issue.message)).toEqual(["expected an object"]);
  });

  test("values come out as copies", () => {
    const value = { a: [1] };
    expect(jsonObject.parse(value)).toEqual(value);
    expect(jsonObject.parse(value).a).not.toBe(value.a);
    expect(jsonValue.parse(value)).not.toBe(value);
    expect(jsonValue.parse(null)).toBeNull();
  });
});

describe("writeJson and escapeNonAscii", () => {
  test("output is strict: values that JSON cannot represent are null or left out", () => {
    expect(writeJson({ a: Number.NaN, b: Number.NEGATIVE_INFINITY, c: undefined })).toBe('{"a":null,"b":null}');
  });

  test("escaped text is ASCII, on one line, and means the same", () => {
    const text = fc.oneof(
      fc.string({ unit: codeUnit }),
      fc.string({ unit: fc.constantFrom("\u2028", "\u2029", "\u0085", "\u007f", "\ud83d", "é", "😀", "\n", '"') }),
    );
    fc.assert(
      fc.property(
        fc.dictionary(text, text).filter((value) => !Object.hasOwn(value, "__proto__")),
        (value) => {
          const escaped = escapeNonAscii(writeJson(value));
          expect(escaped).toMatch(/^[ -~]*$/);
          expect(JSON.parse(escaped)).toEqual(value);
        },
      ),
    );
  });
});
