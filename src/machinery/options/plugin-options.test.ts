import { expect, test } from "vitest";
import * as z from "zod";
import { parsePluginOptions } from "./plugin-options.ts";
import { ConfigError } from "./problem.ts";

const schema = z.strictObject({
  timeout_ms: z.int().default(5),
  api_key: z.string().default(""),
  server: z
    .strictObject({ env: z.record(z.string(), z.string()), headers: z.record(z.string(), z.string()) })
    .partial()
    .default({}),
  servers: z.array(z.strictObject({ port: z.number(), enabled: z.boolean().default(true) })).default([]),
});

const problemsOf = (options: unknown) => {
  try {
    parsePluginOptions(schema, options, "options");
    return "";
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
};

test("numbers and switches may be written as text, as variables of the environment are", () => {
  const given = { timeout_ms: "250", servers: [{ port: 1 }, { port: "8080", enabled: "false" }], api_key: "12345" };
  const before = structuredClone(given);
  expect(parsePluginOptions(schema, given, "options")).toMatchObject({
    timeout_ms: 250,
    servers: [{ port: 1 }, { port: 8080, enabled: false }],
    api_key: "12345",
  });
  expect(given).toEqual(before);
  expect(problemsOf({ timeout_ms: "soon" })).toContain('timeout_ms: expected a number, found "soon"');
});

test.each([
  [{ api_key: 48_151_623 }],
  [{ server: { env: { DATABASE: 48_151_623 } } }],
  [{ server: { headers: { "x-anything": 48_151_623 } } }],
])("a value that may be a secret is not repeated in the error: %j", (options) => {
  expect(problemsOf(options)).toContain("expected text in quotes, found a number");
  expect(problemsOf(options)).not.toContain("48151623");
});
