import { expect, test } from "vitest";
import { z } from "zod";
import { renderFields } from "./field-table.ts";
import { toJsonSchema } from "./json-schema.ts";

function linesOf(schema: z.ZodType): string[] {
  return renderFields(toJsonSchema(schema, "input")).split("\n").slice(2);
}

test("fields of nested objects and of list items follow under dotted names", () => {
  const schema = z.object({
    server: z.object({ port: z.int().default(8765) }).prefault({}),
    plugins: z.array(z.object({ type: z.string() })),
  });

  expect(linesOf(schema)).toEqual([
    "| `server` | object |  |  |",
    "| `server.port` | integer | `8765` |  |",
    "| `plugins` | array of object | required |  |",
    "| `plugins[].type` | string | required |  |",
  ]);
});

test("characters that would break a table are escaped", () => {
  const schema = z.object({ mode: z.enum(["a|b", "c"]).optional().describe("One\nof two.") });

  expect(linesOf(schema)).toEqual(['| `mode` | `"a\\|b"` or `"c"` |  | One of two. |']);
});

test("a request without fields is described as such", () => {
  expect(renderFields(toJsonSchema(z.object({}), "input"))).toBe("No fields.");
});
