import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { tables } from "../../src/caps/tables.generated.ts";
import { decodeLine } from "../../src/protocol/codec.ts";
import { core } from "../../src/protocol/core.ts";
import { defaultLimits } from "../../src/protocol/limits.ts";
import type { Capability } from "../../src/protocol/table/capability.ts";
import { createTypeRegistry } from "../../src/protocol/table/registry.ts";
import { createProtocolSchema, referenceTo } from "./protocol-schema.ts";
import { messagesOf, renderVectors } from "./vectors.ts";

const capabilities: Capability[] = [core, ...Object.values(tables)];
const schema = createProtocolSchema(Object.values(tables));
const ajv = new Ajv2020({ strict: false }).addSchema(schema, "a2e");
const validate = ajv.getSchema("a2e");
const messages = capabilities.flatMap(messagesOf);

function validateAs(type: string) {
  return ajv.getSchema(`a2e${referenceTo(type)}`);
}

test("there is a vector for every message type and every alias", () => {
  const covered = new Set(messages.map(({ type }) => type));
  const missing = [...createTypeRegistry(capabilities).keys()].filter((type) => !covered.has(type));
  expect(missing).toEqual([]);
});

describe("the JSON Schema of the protocol", () => {
  test.each(messages.map((message) => [`${message.id} (${message.type})`, message] as const))(
    "takes %s",
    (_, message) => {
      expect(validate?.(message), JSON.stringify(validate?.errors)).toBe(true);
    },
  );

  test("distinguishes message types", () => {
    const [ping] = messages.filter(({ type }) => type === "ping");
    expect(validateAs("ping")?.(ping)).toBe(true);
    expect(validateAs("pong")?.(ping)).toBe(false);
  });

  test.each([
    ["an unknown type", { type: "tool/dance/req" }],
    ["no type", { tool_name: "echo" }],
    ["a field of the wrong type", { type: "tool/call/req", tool_name: 7 }],
    ["a required field that is missing", { type: "invoke/cancel/req" }],
    ["an answer without req_id", { type: "pong", id: "1", a2e: "1.0", version: "1.0", ts: 1, uptime_seconds: 1 }],
    ["an array", []],
  ])("refuses %s", (_, message) => {
    expect(validate?.(message)).toBe(false);
  });

  test("lets a request leave out all that has a default, and its envelope but the type", () => {
    expect(validate?.({ type: "tool/call/req" })).toBe(true);
  });

  test("accepts unknown fields", () => {
    expect(validate?.({ type: "ping", trace: "abc" })).toBe(true);
  });
});

test("each vector is a line that decodes to its original message", () => {
  for (const capability of capabilities) {
    const lines = renderVectors(capability).trimEnd().split("\n");
    const decoded = lines.map((line) => decodeLine(line, defaultLimits, () => "none").message);
    expect(decoded).toEqual(messagesOf(capability));
  }
});
