import { expect, test } from "vitest";
import { z } from "zod";
import type { JsonObject } from "../../../protocol/json.ts";
import { tools } from "../protocol.ts";
import { defineTool } from "./define-tool.ts";
import { toToolDefinition } from "./tool-definition.ts";

const parametersOf = (input: JsonObject) =>
  toToolDefinition(defineTool({ name: "a", description: "A.", input, run: () => null })).input_parameters;

test("a definition has every field of the table", () => {
  const tool = defineTool({
    name: "a",
    description: "A.",
    input: z.object({ path: z.string().describe("Where."), limit: z.int().default(5) }),
    output: z.object({ ok: z.boolean() }),
    tags: ["x"],
    deferred: true,
    annotations: { title: "T" },
    run: () => ({ ok: true }),
  });
  const definition = toToolDefinition(tool);
  expect(tools.calls.list.result.parse({ tools: [definition] }).tools).toEqual([definition]);
  expect(definition).toMatchObject({
    name: "a",
    kind: "function",
    defer_loading: true,
    toolkit: null,
    tags: ["x"],
    annotations: { title: "T" },
  });
  expect(definition.input_parameters).toEqual([
    { name: "path", type: "string", description: "Where.", required: true, enum: null, properties: null },
    { name: "limit", type: "integer", description: "", required: false, enum: null, properties: null },
  ]);
  expect(definition.output_parameters).toMatchObject([{ name: "ok", type: "boolean", required: true }]);
});

test("types, values and nested parameters are accepted by a strict decoder", () => {
  const parameters = parametersOf({
    type: "object",
    properties: {
      nullable: { type: ["string", "null"] },
      either: { anyOf: [{ type: "integer" }, { type: "string" }, { type: "null" }] },
      numbers: { enum: [1, 2, "three", null] },
      fixed: { const: true },
      anything: {},
      always: true,
      nested: { type: "object", properties: { inner: { type: "string", description: 3 } }, required: ["inner"] },
      named: { $ref: "#/$defs/named" },
      missing: { $ref: "#/$defs/none" },
      remote: { $ref: "https://example.com/schema" },
    },
    $defs: { named: { type: "array", title: "A list" } },
  });
  const byName = Object.fromEntries(parameters.map((parameter) => [parameter.name, parameter]));
  expect(byName.nullable?.type).toBe("string");
  expect(byName.either?.type).toBe("integer|string");
  expect(byName.numbers).toMatchObject({ type: "number|string", enum: ["1", "2", "three", "null"] });
  expect(byName.fixed).toMatchObject({ type: "boolean", enum: ["true"] });
  expect(byName.anything?.type).toBe("any");
  expect(byName.nested?.properties).toEqual({
    inner: { name: "inner", type: "string", description: "", required: true, enum: null, properties: null },
  });
  expect(byName.named).toMatchObject({ type: "array", description: "A list" });
  for (const parameter of parameters) {
    expect(typeof parameter.type).toBe("string");
    expect(typeof parameter.description).toBe("string");
  }
});

test("recursive schemas are cut", () => {
  const [node] = parametersOf({ type: "object", properties: { node: { $ref: "#" } } });
  expect(JSON.stringify(node).length).toBeLessThan(2000);
  expect(parametersOf({ type: "object", properties: { x: { $ref: "#/properties/x" } } })).toMatchObject([
    { type: "any" },
  ]);
});
