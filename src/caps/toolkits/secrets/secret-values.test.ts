import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import { joinSecrets, splitSecrets } from "./secret-values.ts";

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "object", properties, ...more });
const secret = { type: "string", "x-secret": true };

test.each([
  ["format", { type: "string", format: "password" }],
  ["writeOnly", { type: "string", writeOnly: true }],
  ["x-secret", secret],
  ["allOf", { allOf: [{ type: "string" }, secret] }],
  ["anyOf", { anyOf: [{ type: "integer" }, secret] }],
  ["oneOf", { oneOf: [secret, { type: "null" }] }],
  ["$ref", { $ref: "#/$defs/key" }],
  ["$anchor", { $ref: "#keyAnchor" }],
  ["a $ref to a $ref", { $ref: "#/$defs/again" }],
  ["else", { if: {}, else: secret }],
])("a secret marked by %s is found", (_how, schema) => {
  const $defs = { key: secret, again: { $ref: "#/$defs/key" }, anchored: { ...secret, $anchor: "keyAnchor" } };
  const split = splitSecrets(object({ key: schema }, { $defs }), { key: "hunter2", open: "x" });
  expect(split).toEqual({ shown: { open: "x" }, secrets: [[["key"], "hunter2"]] });
});

test.each([
  ["properties of an allOf", { allOf: [object({ a: secret })] }, { a: "s" }, {}],
  [
    "additionalProperties",
    object({ open: {} }, { additionalProperties: secret }),
    { open: "o", x: "s" },
    { open: "o" },
  ],
  ["patternProperties", object({}, { patternProperties: { _key$: secret } }), { a_key: "s", a: "o" }, { a: "o" }],
  ["items", object({ l: { type: "array", items: secret } }), { l: ["s", "t"] }, { l: [null, null] }],
  ["prefixItems", object({ l: { prefixItems: [{}, secret] } }), { l: ["o", "s", "o"] }, { l: ["o", null, "o"] }],
  ["objects in a list", object({ l: { items: object({ p: secret }) } }), { l: [{ p: "s", u: 1 }] }, { l: [{ u: 1 }] }],
  ["a whole object", object({ o: { type: "object", writeOnly: true } }), { o: { a: { b: "s" } } }, {}],
  ["the whole config", { type: "object", "x-secret": true }, { a: "s" }, {}],
  [
    "a schema that refers to itself",
    { $ref: "#", ...object({ a: { $ref: "#" }, k: secret }) },
    { a: { a: { k: "s" } } },
    { a: { a: {} } },
  ],
])("secrets in %s are removed and restored", (_where, schema, config, shown) => {
  const split = splitSecrets(schema as JsonObject, config as JsonObject);
  expect(split.shown).toEqual(shown);
  expect(joinSecrets(split.shown, split.secrets)).toEqual(config);
});

const keys = fc.constantFrom("open", "key", "list", "deep", "__proto__", "0", "a.b");
const values = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string(),
    fc.integer(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(keys, tie("value"), { maxKeys: 4, noNullPrototype: true }) as fc.Arbitrary<JsonObject>,
  ),
})).value;

test("joining the parts of any config restores it, and no key reaches a prototype", () => {
  const schema: JsonObject = object(
    { key: secret, deep: { anyOf: [{ $ref: "#" }, { items: secret }] } },
    { additionalProperties: { $ref: "#" }, patternProperties: { "^a": secret }, items: { $ref: "#" } },
  );
  fc.assert(
    fc.property(fc.dictionary(keys, values, { noNullPrototype: true }), (config) => {
      const { shown, secrets } = splitSecrets(schema, config as JsonObject);
      expect(joinSecrets(shown, secrets)).toEqual(config);
      const shownKeys: string[] = [];
      JSON.stringify(shown, (key, value) => {
        shownKeys.push(key);
        return value as JsonValue;
      });
      expect(shownKeys).not.toContain("key");
      expect(({} as JsonObject).key).toBeUndefined();
    }),
  );
});
