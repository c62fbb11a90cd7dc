import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../protocol/json.ts";
import { canonicalKey, isEmptyKey, toWireKey } from "./key.ts";

test("the order of fields does not change a key, at any depth", () => {
  expect(canonicalKey({ b: { d: 1, c: [2, { f: 3, e: 4 }] }, a: "x" })).toBe(
    canonicalKey({ a: "x", b: { c: [2, { e: 4, f: 3 }], d: 1 } }),
  );
});

test("a string key and the object in answers are the same key, so that an agent can send it back", () => {
  const { key, key_text } = toWireKey(canonicalKey("mars"));

  expect(key).toEqual({ key: "mars" });
  expect(key_text).toBe("mars");
  expect(canonicalKey(key)).toBe(canonicalKey("mars"));
});

test("strings that only look like another key are different keys", () => {
  const keys = ["mars", '{"key":"mars"}', "mars ", "Mars", "mars\0", "\ud800", "\ud801", "\ufffd", "e\u0301", "\u00e9"];
  const objects = [{ key: "mars", x: null }, { key: ["mars"] }, { "key ": "mars" }, { a: 1 }, { a: "1" }, { a: [1] }];

  const canonical = [...keys, ...objects].map(canonicalKey);

  expect(new Set(canonical).size).toBe(canonical.length);
});

test("two objects have one canonical form exactly when they are equal", () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(object, object, (first, second) => {
      const [one, two] = [first, second].map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);
      const shuffled = Object.fromEntries(Object.entries(one as JsonObject).reverse());
      expect(canonicalKey(shuffled)).toBe(canonicalKey(one as JsonObject));
      if (canonicalKey(one as JsonObject) === canonicalKey(two as JsonObject)) expect(one).toEqual(two);
      expect(toWireKey(canonicalKey(one as JsonObject)).key).toEqual(one);
    }),
  );
});

test("a key without content is empty in every spelling", () => {
  for (const key of ["", {}, { key: "" }]) expect(isEmptyKey(key)).toBe(true);
  for (const key of [" ", { key: " " }, { key: null }]) expect(isEmptyKey(key)).toBe(false);
});
