import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { maxProblems } from "../../../machinery/validation/problem-text.ts";
import type { CatalogueTool } from "../../../plugin/tool-catalogue.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { createTestCall, runTool } from "../test-call-context.suite.ts";
import { defineTool, toolOutput } from "./define-tool.ts";

const zodTool = defineTool({
  name: "copy",
  description: "Copies.",
  input: z.object({
    path: z.string().min(1),
    mode: z.enum(["fast", "slow"]).default("fast"),
    filters: z.array(z.object({ name: z.string(), size: z.int().max(10) })).default([]),
    target: z.union([z.string(), z.object({ id: z.int() })]).optional(),
  }),
  run: ({ path, mode }) => ({ path, mode }),
});

const schemaTool = defineTool({
  name: "copy",
  description: "Copies.",
  input: {
    type: "object",
    properties: {
      path: { type: "string", minLength: 1 },
      mode: { enum: ["fast", "slow"], default: "fast" },
      filters: {
        type: "array",
        items: {
          type: "object",
          properties: { name: { type: "string" }, size: { type: "integer", maximum: 10 } },
          required: ["name", "size"],
        },
        default: [],
      },
      target: { type: ["string", "object"] },
    },
    required: ["path"],
    additionalProperties: false,
  },
  run: (args) => ({ ...args }),
});

const problemsOf = (tool: CatalogueTool, args: JsonObject) => {
  const checked = tool.check(args);
  return "problems" in checked ? checked.problems.map(({ path, message }) => `${path}: ${message}`) : [];
};

describe.each([
  ["zod", zodTool],
  ["JSON Schema", schemaTool],
])("a tool with a %s input", (_kind, tool) => {
  test("gets its defaults, and the caller's arguments are not changed", () => {
    const args = Object.freeze({ path: "a" });
    expect(tool.check(args)).toEqual({ value: { path: "a", mode: "fast", filters: [] } });
    expect(args).toEqual({ path: "a" });
  });

  test("reports an unknown property with the nearest name, and a missing property, together", () => {
    const problems = problemsOf(tool, { pth: "a" });
    expect(problems).toHaveLength(2);
    expect(problems).toContainEqual(expect.stringMatching(/^: property "path".* is required and missing$/));
    expect(problems).toContain(': unknown property "pth"; did you mean "path"?');
  });

  test("lists the allowed properties if none is similar", () => {
    expect(problemsOf(tool, { path: "a", zebra: 1 })).toEqual([
      ': unknown property "zebra"; allowed are one of "path", "mode", "filters", "target"',
    ]);
  });

  test("reports the expected and the actual type", () => {
    expect(problemsOf(tool, { path: 7 })).toEqual(["path: expected string, found number 7"]);
    expect(problemsOf(tool, { path: null })).toEqual(["path: expected string, found null"]);
    expect(problemsOf(tool, { path: "a", mode: "fat" })).toEqual([
      'mode: expected one of "fast", "slow", found string "fat"',
    ]);
    expect(problemsOf(tool, { path: "a", filters: {} })).toEqual(["filters: expected array, found an object"]);
  });

  test("reports the path, also in lists", () => {
    const [problem] = problemsOf(tool, {
      path: "a",
      filters: [
        { name: "x", size: 1 },
        { name: "x", size: 99 },
      ],
    });
    expect(problem).toMatch(/^filters\[1\]\.size: .*10.*found number 99$/);
  });

  test("cuts long values and long lists of problems", () => {
    expect(problemsOf(tool, { path: "a", mode: "x".repeat(1000) })[0]?.length).toBeLessThan(200);
    const filters = Array.from({ length: 500 }, () => ({ name: 1, size: 1 }));
    expect(problemsOf(tool, { path: "a", filters })).toHaveLength(maxProblems);
  });

  test("survives any arguments", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (args) => {
        const checked = tool.check(args as JsonObject);
        expect("value" in checked || checked.problems.length > 0).toBe(true);
      }),
    );
  });
});

test("all alternatives of a union are reported", () => {
  expect(problemsOf(zodTool, { path: "a", target: 3 })).toEqual([
    "target: expected string, or expected object, found number 3",
  ]);
});

test("for large arguments only the first problem is reported", () => {
  const filters = Array.from({ length: 20_000 }, () => ({ name: 1, size: 1 }));
  expect(problemsOf(schemaTool, { path: "a", filters })).toHaveLength(1);
});

test("a zod object that allows unknown keys keeps them", () => {
  const tool = defineTool({ name: "any", description: "", input: z.looseObject({}), run: () => null });
  expect(tool.check({ x: 1 })).toEqual({ value: { x: 1 } });
});

test("older drafts of JSON Schema, unknown formats and equal ids are accepted", () => {
  const input = {
    $schema: "http://json-schema.org/draft-07/schema#",
    $id: "same",
    type: "object",
    properties: { a: { format: "odd" } },
  };
  for (const name of ["one", "two"]) {
    expect(defineTool({ name, description: "", input, run: () => null }).check({ a: "x" })).toEqual({
      value: { a: "x" },
    });
  }
});

test("invalid definitions are rejected at once", () => {
  const run = () => null;
  expect(() => defineTool({ name: "no spaces", description: "", input: z.object({}), run })).toThrow(
    "not a valid tool name",
  );
  expect(() => defineTool({ name: "a", description: "", input: { type: "string" }, run })).toThrow('"type": "object"');
});

test("a missing field is reported when the tool is defined, not when it is listed", () => {
  const whole = { name: "a", description: "", input: z.object({}), run: () => null };
  for (const part of ["description", "input", "run"] as const)
    expect(() => defineTool({ ...whole, [part]: undefined } as unknown as typeof whole)).toThrow(
      'tool "a": needs a description, an input schema and a function run',
    );
});

test("the arguments of run are typed by the schema", () => {
  defineTool({
    name: "typed",
    description: "",
    input: z.object({ count: z.int().default(1) }),
    output: z.object({ doubled: z.number() }),
    run: ({ count }) => ({ doubled: count.toFixed(0).length * 2 }),
  });
  defineTool({
    name: "wrong",
    description: "",
    input: z.object({}),
    output: z.object({ a: z.number() }),
    // @ts-expect-error the result is not what `output` says
    run: () => ({ a: "text" }),
  });
});

test("the return value of run is data, even if it looks like an output", async () => {
  const returning = (value: JsonObject | null | undefined) =>
    runTool(defineTool({ name: "a", description: "", input: z.object({}), run: () => value }), {});
  expect(await returning({ data: 1, error: "mine" })).toEqual({ data: { data: 1, error: "mine" } });
  expect(await returning(undefined)).toEqual({ data: null });
  expect(await returning(null)).toEqual({ data: null });
});

test("toolOutput returns more than data", async () => {
  const run = () => toolOutput({ data: 1, summary: "one", exit_code: 3, error: "no" });
  const tool = defineTool({ name: "a", description: "", input: z.object({}), run });
  expect(await runTool(tool, {})).toMatchObject({ data: 1, summary: "one", exit_code: 3, error: "no" });
});

test("a synchronous tool runs without a promise, an asynchronous tool with a promise", () => {
  const run = (value: JsonObject | Promise<JsonObject>) =>
    defineTool({ name: "a", description: "", input: z.object({}), run: () => value }).run({}, createTestCall());
  expect(run({ a: 1 })).toEqual({ data: { a: 1 } });
  expect(run(Promise.resolve({ a: 1 }))).toBeInstanceOf(Promise);
});

test("a pure tool gets its arguments and no context, and must return its data synchronously", () => {
  const seen: unknown[][] = [];
  const define = (run: (...args: unknown[]) => unknown) =>
    defineTool({ name: "a", description: "", input: { type: "object" }, pure: true, run: run as () => JsonObject });
  const tool = define((...args) => {
    seen.push(args);
    return 1;
  });

  expect(tool.isPure).toBe(true);
  expect(tool.run({ b: 1 }, createTestCall())).toEqual({ data: 1 });
  expect(seen).toEqual([[{ b: 1 }]]);
  expect(() => define(async () => 1).run({}, createTestCall())).toThrow(
    'tool "a" is declared pure and returned a promise',
  );
});

test("a pure tool cannot be declared to stream", () => {
  const both = { name: "a", description: "", input: z.object({}), pure: true, streaming: true, run: () => null };
  expect(() => defineTool(both)).toThrow("cannot emit events");
});
