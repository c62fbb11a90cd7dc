import { describe, expect, test } from "vitest";
import { skill } from "./protocol.ts";
import { type SkillHost, type StartOptions, startSkills } from "./start-skills.suite.ts";

async function startWith(source: string, fields = "", options: StartOptions = {}): Promise<SkillHost> {
  const host = await startSkills(options);
  await host.add("small", `script: scripts/main.js\n${fields}`, { files: { "scripts/main.js": source } });
  return host;
}

test("the default export is called with the arguments and returns the result", async () => {
  await using host = await startWith("export default ({ a, b }) => ({ sum: a + b });", "outputs: { sum: number }");

  expect((await host.skills.call({ name: "small", arguments: { a: 40, b: 2 } })).data).toMatchObject({
    success: true,
    data: { sum: 42 },
  });
});

test("emit sends events, which are also part of the result", async () => {
  await using host = await startWith(
    'export default async () => { await emit({ kind: "progress", data: { done: 1 } }); await emit("words"); };',
  );
  const streamed: unknown[] = [];

  const { data } = await host.skills.call({ name: "small" }, { onEvent: (event) => streamed.push(event) });

  const expected = [
    { kind: "progress", data: { done: 1 }, seq: 1 },
    { kind: "status", data: { value: "words" }, seq: 2 },
  ];
  expect([data?.data, data?.events]).toEqual([null, expected]);
  expect(streamed).toMatchObject(expected);
});

test("llm sends a prompt or messages to the agent", async () => {
  await using host = await startWith(
    'export default async () => [(await llm("one")).content, (await llm({ messages: [{ role: "user", content: "two" }] })).content];',
    "llm: true",
  );
  host.client.onAsk(skill.asks.llm, async ({ messages }) => ({ content: `re: ${messages[0]?.content}` }));

  expect((await host.skills.call({ name: "small" })).data?.data).toEqual(["re: one", "re: two"]);
});

describe("a script that fails or means harm", () => {
  test.each([
    [
      "throws",
      'export default () => { throw new Error("bad city"); };',
      { code: "skill_error", message: expect.stringContaining("bad city") },
    ],
    ["is not JavaScript", "export default (", { code: "skill_error" }],
    ["exports nothing", "const a = 1;", { code: "skill_error" }],
    [
      "requests a completion without declaring it",
      'export default () => llm("x");',
      { code: "skill_error", message: expect.stringContaining("must declare") },
    ],
    ["waits for ever", "export default () => new Promise(() => {});", { code: "skill_error" }],
    ["fills the memory", "export default () => { const all = []; for (;;) all.push(new Array(1e5).fill(7)); };", {}],
    [
      "returns too much",
      'export default () => "x".repeat(2_000_000);',
      { code: "skill_error", message: expect.stringContaining("larger than") },
    ],
    ["returns a cycle", "export default () => { const a = {}; a.a = a; return a; };", { code: "skill_error" }],
    ["looks for the host", "export default () => process.env;", { code: "skill_error" }],
  ])("and %s is answered with an error, and the session continues", async (_, source, error) => {
    await using host = await startWith(source);
    await host.add("fine", "");

    await expect(host.skills.call({ name: "small" })).rejects.toMatchObject(error);
    expect((await host.skills.call({ name: "fine" })).data?.success).toBe(true);
  });

  test("by running for ever is ended at its timeout, and the session continues", async () => {
    await using host = await startWith("export default () => { for (;;); };");
    await host.add("fine", "");

    await expect(host.skills.call({ name: "small", timeout: 1 })).rejects.toMatchObject({ code: "timeout" });
    expect((await host.skills.call({ name: "fine" })).data?.success).toBe(true);
  });

  test("by emitting without end is stopped", async () => {
    const source = "export default async () => { for (;;) await emit('x'.repeat(1000)); };";
    await using host = await startWith(source, "", { max_output_bytes: 100_000 });

    await expect(host.skills.call({ name: "small" })).rejects.toMatchObject({
      code: "skill_error",
      message: expect.stringContaining("it emitted more than 100000 bytes"),
    });
  });
});
