import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { z } from "zod";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { defineToolkit, toolkitOutput } from "./define-toolkit.ts";
import { parseToolkitsOptions } from "./options.ts";
import { startToolkits } from "./start-toolkits.suite.ts";
import { loadToolkits } from "./toolkit-modules.ts";

const newFolder = useTemporaryFolder();
const tools = { noop: { description: "", input: { type: "object" }, run: () => null } } as const;

test.each(["", "Weather", "a b", "a__b", "-a", "a-", "ä", "a".repeat(49), "../a"])(
  "%j is not a valid toolkit name",
  (name) => {
    expect(() => defineToolkit({ name, description: "", tools })).toThrow("is not a valid toolkit name");
  },
);

test("mistakes in a definition throw when it is created", () => {
  expect(() => defineToolkit({ name: "a", description: "", tools: {} })).toThrow("has no tools");
  expect(() => defineToolkit({ name: "a", description: "", tools: { "no name": tools.noop } })).toThrow('"no name"');
  expect(() => defineToolkit({ name: "a", description: "", config: { type: "string" }, tools })).toThrow(
    '"type": "object"',
  );
  // As an author without a compiler would write it.
  for (const tool of [
    {},
    { description: "" },
    { description: "", input: { type: "object" } },
    { ...tools.noop, run: 1 },
  ])
    expect(() => defineToolkit({ name: "a", description: "", tools: { noop: tool as typeof tools.noop } })).toThrow(
      'toolkit "a", tool "noop": needs a description, an input schema and a function run',
    );
  expect(() => defineToolkit({ name: "a", tools } as unknown as Parameters<typeof defineToolkit>[0])).toThrow(
    "description must be a string",
  );
});

test("unknown properties are rejected unless the JSON Schema says otherwise", async () => {
  const strict = defineToolkit({
    name: "strict",
    description: "",
    config: { type: "object", properties: { a: {} } },
    tools,
  });
  const open = defineToolkit({
    name: "open",
    description: "",
    config: { type: "object", additionalProperties: true },
    tools,
  });
  await using host = await startToolkits({ builtin: false, toolkits: [strict, open] });
  await expect(host.configure("strict", { b: 1 })).rejects.toMatchObject({ code: "schema_violation" });
  expect(await host.configure("open", { b: 1 })).toMatchObject({ status: "ok" });
});

test("rules that only zod can check apply to configs and arguments, and their values are converted", async () => {
  const odd = z.int().refine((value) => value % 2 === 1, "is even");
  const toolkit = defineToolkit({
    name: "zodded",
    description: "",
    config: z.object({ odd, when: z.string().transform((text) => new Date(text)) }),
    tools: {
      year: {
        description: "",
        input: z.object({ add: odd.default(1) }),
        run: ({ add }, { config }) => toolkitOutput({ data: config.when.getUTCFullYear() + add, summary: "a year" }),
      },
    },
  });
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit] });
  await expect(host.configure("zodded", { odd: 2, when: "2026-01-01" })).rejects.toMatchObject({
    detail: { issues: [{ path: "config.odd", message: "is even" }] },
  });
  const { toolkit: shown } = await host.configure("zodded", { odd: 3, when: "2026-01-01" });
  expect(shown.config).toEqual({ odd: 3, when: "2026-01-01" });
  expect(await host.call("zodded__year")).toBe(2027);
  await expect(host.call("zodded__year", { add: 2 })).rejects.toMatchObject({ code: "schema_violation" });
});

test("a toolkit is loaded from a file, a folder or a URL, and a module without a toolkit is an error", async () => {
  const folder = newFolder();
  mkdirSync(join(folder, "empty"), { recursive: true });
  const source = (name: string) => `
    import { defineToolkit } from ${JSON.stringify(new URL("./define-toolkit.ts", import.meta.url).href)};
    export default defineToolkit({ name: "${name}", description: "", tools: { a: { description: "", input: { type: "object" }, run: () => 1 } } });
    export const other = 1;`;
  mkdirSync(join(folder, "kits"));
  writeFileSync(join(folder, "kits", "one.mjs"), source("one"));
  writeFileSync(join(folder, "kits", "two.mjs"), source("two"));
  writeFileSync(join(folder, "kits", "two.test.mjs"), "throw new Error('a test was loaded')");
  writeFileSync(join(folder, "nothing.mjs"), "export const a = 1;");
  writeFileSync(join(folder, "broken.mjs"), "throw new Error('at once')");
  const namesOf = async (name: string) => (await loadToolkits([name], folder)).map((toolkit) => toolkit.name);

  expect(await namesOf("kits")).toEqual(["one", "two"]);
  expect(await namesOf("./kits/one.mjs")).toEqual(["one"]);
  expect(await namesOf(pathToFileURL(join(folder, "kits", "two.mjs")).href)).toEqual(["two"]);
  await expect(namesOf("./nothing.mjs")).rejects.toThrow("exports no toolkit");
  await expect(namesOf("./broken.mjs")).rejects.toThrow("at once");
  await expect(namesOf("./missing.mjs")).rejects.toThrow("missing.mjs");
  await expect(namesOf("empty")).rejects.toThrow("there is no module");
});

test("two toolkits with the same name stop the start", async () => {
  const toolkit = defineToolkit({ name: "twice", description: "", tools });
  await expect(startToolkits({ builtin: false, toolkits: [toolkit, { ...toolkit }] })).rejects.toThrow(
    'called "twice"',
  );
});

test("an unknown option is reported with the most similar one", () => {
  expect(() => parseToolkitsOptions({ modlues: [] })).toThrow("modules");
  expect(() => parseToolkitsOptions({ builtin: ["htp"] })).toThrow("builtin");
});

test("`when` of a tool does not see secrets, so the same tools are listed by both capabilities", async () => {
  const toolkit = defineToolkit({
    name: "sure",
    description: "Has a tool for those who have a key.",
    config: z.object({ key: z.string().optional().meta({ format: "password" }), is_open: z.boolean().default(true) }),
    tools: {
      plain: { description: "Is always there.", input: z.object({}), run: () => 1 },
      open: {
        description: "Goes by the config.",
        input: z.object({}),
        when: ({ is_open }) => is_open === true,
        run: () => 2,
      },
      keyed: {
        description: "Goes by a secret.",
        input: z.object({}),
        when: ({ key }) => key !== undefined,
        run: () => 3,
      },
    },
  });
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit] });
  const answer = await host.configure("sure", { key: "very-secret" });
  expect(answer.toolkit.tools).toEqual(["sure__plain", "sure__open"]);
  expect(await host.toolNames()).toEqual(answer.toolkit.tools);
});
