import { expect, test } from "vitest";
import { toSchema } from "./schema-shorthand.ts";

test.each([
  ["a schema stays as it is", { type: "object", properties: { a: {} }, required: ["a"] }, undefined],
  ["a reference too", { $ref: "#/$defs/a", $defs: { a: { type: "string" } } }, undefined],
  ["and one of a list", { type: "array", items: { type: "string" } }, undefined],
  ["names", ["topic", "style"], { type: "object", properties: { topic: {}, style: {} } }],
  [
    "parameters",
    [{ name: "topic", type: "string", required: true }, { name: "style" }],
    { type: "object", properties: { topic: { type: "string" }, style: {} }, required: ["topic"] },
  ],
  [
    "a map to types, words and schemas",
    { topic: "string", style: "How it should sound", depth: { type: "integer", required: true }, type: null },
    {
      type: "object",
      properties: {
        topic: { type: "string" },
        style: { description: "How it should sound" },
        depth: { type: "integer" },
        type: {},
      },
      required: ["depth"],
    },
  ],
])("%s", (_, given, schema) => {
  expect(toSchema(given)).toEqual(schema ?? given);
});

test.each([[7], ["text"], [null], [[{ type: "string" }]], [{ topic: 7 }]])("%j is not a schema", (given) => {
  expect(toSchema(given)).toBeUndefined();
});
