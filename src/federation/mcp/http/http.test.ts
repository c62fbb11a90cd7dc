import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { defineTool, toolOutput } from "../../../caps/tools/definition/define-tool.ts";
import { httpClients } from "../mcp-clients.suite.ts";
import { addTool, useMcpHosts } from "../started-mcp-host.suite.ts";

const startHost = useMcpHosts();

const failingTool = defineTool({
  name: "fail",
  description: "Fails in one of two ways.",
  input: { type: "object", properties: { isThrown: { type: "boolean" } } },
  run({ isThrown }) {
    if (isThrown === true) throw new Error("out of tea");
    return toolOutput({ data: { seen: 1 }, error: "no tea today", exit_code: 3 });
  },
});
const listTool = defineTool({
  name: "numbers",
  description: "Returns a list, and says so.",
  input: { type: "object", properties: {} },
  output: { type: "array", items: { type: "integer" } },
  run: () => [1, 2, 3],
});

describe.each(Object.entries(httpClients))("a client of %s", (_revision, connect) => {
  test("lists the tools of the host with schemas and annotations, and calls them", async () => {
    const { url } = await startHost({ tools: [addTool] });
    const client = await connect(url);

    const { tools } = await client.listTools();

    expect(tools.find(({ name }) => name === "add")).toMatchObject({
      description: "Adds two numbers.",
      inputSchema: { type: "object", required: ["a", "b"], additionalProperties: false },
      outputSchema: { type: "object", required: ["sum"] },
      annotations: { title: "Addition", readOnlyHint: true, idempotentHint: true },
    });
    expect(await client.callTool({ name: "add", arguments: { a: 2, b: 40 } })).toMatchObject({
      content: [{ type: "text", text: '{"sum":42}' }],
      structuredContent: { sum: 42 },
    });
  });

  test("gets the problem of a call as a result that a model can read", async () => {
    const { url } = await startHost({ tools: [addTool, failingTool] });
    const client = await connect(url);

    const wrong = await client.callTool({ name: "add", arguments: { a: "two" } });
    const thrown = await client.callTool({ name: "fail", arguments: { isThrown: true } });
    const told = await client.callTool({ name: "fail", arguments: {} });

    expect(wrong.isError).toBe(true);
    expect(wrong.content[0]?.text).toContain("b");
    expect(thrown).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("out of tea") }] });
    expect(told).toMatchObject({ isError: true, content: [{ text: "no tea today" }, { text: '{"seen":1}' }] });
    await expect(client.callTool({ name: "nothing_like_it" })).rejects.toThrow("unknown tool");
  });

  test("gets a result that is not an object in the form of its revision", async () => {
    const { url } = await startHost({ tools: [listTool] });
    const client = await connect(url);
    await client.listTools();

    const { structuredContent } = await client.callTool({ name: "numbers" });

    expect(structuredContent).toEqual(_revision.startsWith("2026") ? [1, 2, 3] : { result: [1, 2, 3] });
  });

  test("remembers, recalls and forgets", async () => {
    const { url } = await startHost();
    const client = await connect(url);
    await client.listTools();

    const entries = [{ key: "mars", content: "two moons", tier: "semantic" }];
    await client.callTool({ name: "memory_remember", arguments: { entries } });
    const found = await client.callTool({ name: "memory_recall", arguments: { query: "moons" } });
    const gone = await client.callTool({ name: "memory_forget", arguments: { keys: ["mars"], tier: "semantic" } });
    const left = await client.callTool({ name: "memory_recall", arguments: { query: "moons" } });

    expect(found.structuredContent).toMatchObject({ total: 1, entries: [{ content: "two moons" }] });
    expect(gone.structuredContent).toEqual({ deleted: 1 });
    expect(left.structuredContent).toMatchObject({ total: 0 });
  });

  test("acts in an environment across requests", async () => {
    const { url } = await startHost();
    const client = await connect(url);
    await client.listTools();

    const started = await client.callTool({ name: "env_reset", arguments: { env_name: "counter_env", seed: 1 } });
    const stepped = await client.callTool({
      name: "env_step",
      arguments: { action: { action_type: "inc", payload: { amount: 1 } } },
    });
    const seen = await client.callTool({ name: "env_observe" });
    const closed = await client.callTool({ name: "env_close" });

    expect(started.structuredContent).toMatchObject({ obs: { step_num: 0 } });
    expect(stepped.structuredContent).toMatchObject({ obs: { step_num: 1, state: { count: 1 } } });
    expect(seen.structuredContent).toEqual(expect.objectContaining({ obs: expect.objectContaining({ step_num: 1 }) }));
    expect(closed.structuredContent).toEqual({ closed: true });
  });

  test("plans", async () => {
    const { url } = await startHost();
    const client = await connect(url);
    await client.listTools();

    const plan = await client.callTool({ name: "planning_plan_create", arguments: { name: "release" } });
    const plan_id = plan.structuredContent?.plan_id;
    await client.callTool({ name: "planning_task_add", arguments: { plan_id, title: "write the notes" } });
    const ready = await client.callTool({ name: "planning_task_ready", arguments: { plan_id } });

    expect(ready.structuredContent).toMatchObject({ tasks: [{ title: "write the notes" }] });
  });

  test("reads the files of the workspace, text and binary, and no file outside of it", async () => {
    const { url, workspace } = await startHost();
    await mkdir(join(workspace, "docs"), { recursive: true });
    await writeFile(join(workspace, "docs", "a file.md"), "# Tea\n");
    await writeFile(join(workspace, "pixel.png"), Buffer.from([0x89, 0x50, 0, 0xff]));
    await writeFile(join(workspace, "latin.txt"), Buffer.from([0xe9]));
    await symlink("/etc/passwd", join(workspace, "escape"));
    const client = await connect(url);

    const { resources } = await client.listResources();
    const text = await client.readResource({ uri: "workspace:///docs/a%20file.md" });
    const bytes = await client.readResource({ uri: "workspace:///pixel.png" });
    const latin = await client.readResource({ uri: "workspace:///latin.txt" });
    const { completion } = await client.complete({
      ref: { type: "ref/resource", uri: "workspace:///{+path}" },
      argument: { name: "path", value: "docs/" },
    });

    expect(resources.map(({ uri }) => uri)).toEqual([
      "workspace:///docs/a%20file.md",
      "workspace:///latin.txt",
      "workspace:///pixel.png",
    ]);
    expect(text.contents).toEqual([
      { uri: "workspace:///docs/a%20file.md", mimeType: "text/markdown", text: "# Tea\n" },
    ]);
    expect(bytes.contents).toEqual([{ uri: "workspace:///pixel.png", mimeType: "image/png", blob: "iVAA/w==" }]);
    expect(latin.contents).toMatchObject([{ blob: "6Q==" }]);
    expect(completion.values).toEqual(["docs/a file.md"]);
    expect(await client.listResourceTemplates()).toMatchObject({
      resourceTemplates: [{ uriTemplate: "workspace:///{+path}" }],
    });
    for (const path of ["escape", "../x", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "none", "%zz", "docs", "a%00b"])
      await expect(client.readResource({ uri: `workspace:///${path}` })).rejects.toThrow();
    await expect(client.readResource({ uri: "file:///etc/passwd" })).rejects.toThrow("not found");
  });
});
