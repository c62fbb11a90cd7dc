import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { A2EError } from "../errors.ts";
import { jsonObject, jsonValue } from "../json.ts";
import { createParser, parseWith } from "./parse.ts";

const schema = z.object({
  name: z.string(),
  size: z.int().min(0).default(1),
  free: jsonObject.default({}),
  items: z.array(z.object({ id: z.string() })).default([]),
});

afterEach(() => {
  vi.unstubAllGlobals();
});

describe.each([
  ["createParser", createParser(schema)],
  ["parseWith", (value: unknown, name?: string) => parseWith(schema, value, name)],
])("%s", (_, parse) => {
  test("fills in defaults and drops fields that are not in the table", () => {
    expect(parse({ name: "a", type: "x", id: "y", unknown: 1 })).toEqual({ name: "a", size: 1, free: {}, items: [] });
  });

  test("names every bad field by its path", () => {
    const error = parse({ size: -1, items: [{ id: "a" }, { id: 2 }] }, "memory") as A2EError;
    expect(error).toBeInstanceOf(A2EError);
    expect(error).toMatchObject({ code: "schema_violation", capability_name: "memory", retryable: false });
    const issues = error.detail.issues as { path: string }[];
    expect(issues.map((issue) => issue.path)).toEqual(["name", "size", "items[1].id"]);
    expect(error.message).toContain("items[1].id: ");
  });

  test.each([undefined, null, 1, "text", [], () => 1])("%s as a whole is refused in words", (value) => {
    const error = parse(value) as A2EError;
    expect(error.code).toBe("schema_violation");
    expect(error.message).not.toBe("");
  });

  test("a thousand bad fields are not all listed", () => {
    const error = parse({ name: "a", items: Array.from({ length: 1000 }, () => ({})) }) as A2EError;
    expect(error.detail.issues).toHaveLength(20);
  });

  test("a value that cannot be JSON is a schema violation, not an exception", () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(parse({ name: "a", free: cycle })).toMatchObject({ code: "schema_violation" });
    expect(parse({ name: "a", free: { big: 1n } })).toMatchObject({ code: "schema_violation" });
  });

  test.each([new Error("trap"), "trap", null, undefined])("a getter that throws %s is a schema violation", (thrown) => {
    const hostile = {
      get name() {
        throw thrown;
      },
    };
    expect(parse(hostile)).toMatchObject({ code: "schema_violation" });
  });
});

test("the parser works if generated code is forbidden", () => {
  vi.stubGlobal("Function", function Forbidden() {
    throw new EvalError("Refused to evaluate a string as JavaScript");
  });
  const parse = createParser(schema);
  expect(parse({ name: "a" })).toEqual({ name: "a", size: 1, free: {}, items: [] });
  expect(parse({})).toMatchObject({ code: "schema_violation" });
});

test("a schema that contains itself is supported", () => {
  const node: z.ZodType = z.object({
    value: jsonValue,
    get next() {
      return node.nullable().default(null);
    },
  });
  const parse = createParser(node);
  expect(parse({ value: 1, next: { value: 2 } })).toEqual({ value: 1, next: { value: 2, next: null } });
  expect(parse({ value: 1, next: { value: 2, next: {} } })).toMatchObject({
    code: "schema_violation",
    message: "next.next.value: expected a JSON value",
  });
});
