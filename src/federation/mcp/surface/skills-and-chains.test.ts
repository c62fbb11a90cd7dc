import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { chainsPlugin } from "../../../caps/chains/plugin.ts";
import { skillPlugin } from "../../../caps/skill/plugin.ts";
import { createSandboxes } from "../../../sandboxes/sandboxes.ts";
import { useTemporaryFolder } from "../../../stores/temporary-folder.suite.ts";
import { connectSecond } from "../mcp-clients.suite.ts";
import { addTool, useMcpHosts } from "../started-mcp-host.suite.ts";

const startHost = useMcpHosts();
const nextPath = useTemporaryFolder();
let folder = "";

const manifest = `---
name: brew-tea
description: How to brew tea.
arguments: [kind]
input_schema:
  type: object
  properties: { kind: { type: string, enum: [green, black], description: Which tea. } }
  required: [kind]
---
Brew {kind} tea.
`;

beforeEach(async () => {
  folder = nextPath();
  await mkdir(join(folder, "brew-tea"), { recursive: true });
  await writeFile(join(folder, "brew-tea", "SKILL.md"), manifest);
});

const skills = (watch = false) => skillPlugin({ project: [folder], user: [], system: [], builtin: false, watch });

describe.each(["legacy", "auto"] as const)("with version negotiation %s", (mode) => {
  test("a skill is a tool that returns its instructions", async () => {
    const { url } = await startHost({ plugins: [skills()], sandboxes: createSandboxes() });
    const client = await connectSecond(url, mode);

    const { tools } = await client.listTools();
    const result = await client.callTool({ name: "skill_brew-tea", arguments: { kind: "green" } });

    expect(tools.find(({ name }) => name === "skill_brew-tea")).toMatchObject({
      description: expect.stringContaining("How to brew tea."),
      inputSchema: { required: ["kind"] },
      annotations: { readOnlyHint: true },
    });
    expect(result.structuredContent).toMatchObject({ instructions: expect.stringContaining("Brew green tea.") });
    expect(await client.callTool({ name: "skill_brew-tea", arguments: {} })).toMatchObject({ isError: true });
    await expect(client.callTool({ name: "skill_none", arguments: {} })).rejects.toThrow("unknown tool");
  });

  test("a skill is a prompt with its arguments filled in, and has completions", async () => {
    const { url } = await startHost({ plugins: [skills()], sandboxes: createSandboxes() });
    const client = await connectSecond(url, mode);

    const { prompts } = await client.listPrompts();
    const { messages } = await client.getPrompt({ name: "brew-tea", arguments: { kind: "black" } });
    const { completion } = await client.complete({
      ref: { type: "ref/prompt", name: "brew-tea" },
      argument: { name: "kind", value: "gr" },
    });

    expect(prompts).toMatchObject([
      { name: "brew-tea", arguments: [{ name: "kind", description: "Which tea.", required: true }] },
    ]);
    expect(messages).toMatchObject([{ role: "user", content: { text: expect.stringContaining("Brew black tea.") } }]);
    expect(completion.values).toEqual(["green"]);
  });

  test("a chain runs the tools of the host", async () => {
    const { url } = await startHost({ tools: [addTool], plugins: [chainsPlugin()] });
    const client = await connectSecond(url, mode);
    const nodes = [
      { node_id: "one", kind: "tool", name: "add", input: { a: 1, b: 2 } },
      { node_id: "two", kind: "tool", name: "add", input: { b: 39 }, input_map: { a: "$.one.sum" }, deps: ["one"] },
    ];
    await client.listTools();

    const checked = await client.callTool({ name: "chain_validate", arguments: { nodes } });
    const run = await client.callTool({ name: "chain_run", arguments: { nodes } });

    expect(checked.structuredContent).toMatchObject({ valid: true });
    expect(run.structuredContent).toMatchObject({ success: true, final_output: { sum: 42 } });
  });
});

test("added skills are announced as tools and as prompts", async () => {
  const { url } = await startHost({ plugins: [skills(true)], sandboxes: createSandboxes() });
  const announced = new Set<string>();
  const client = await connectSecond(url, "legacy", {}, (created) => {
    for (const method of ["notifications/tools/list_changed", "notifications/prompts/list_changed"] as const) {
      created.setNotificationHandler(method, () => void announced.add(method));
    }
  });
  await client.listTools();

  await mkdir(join(folder, "brew-coffee"));
  await writeFile(join(folder, "brew-coffee", "SKILL.md"), manifest.replaceAll("tea", "coffee"));

  await expect.poll(() => announced.size).toBe(2);
  expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain("brew-coffee");
});

test("a host without skills and chains lists none", async () => {
  const { url } = await startHost();
  const client = await connectSecond(url, "legacy");

  const names = (await client.listTools()).tools.map(({ name }) => name);

  expect(names.filter((name) => name.startsWith("skill_") || name.startsWith("chain_"))).toEqual([]);
  expect(client.getServerCapabilities()?.prompts).toBeUndefined();
});
