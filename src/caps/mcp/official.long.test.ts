// The bridge with third-party servers: every tool is called, resources are read, prompts rendered.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mcp } from "./protocol.ts";
import { officialServer, startBridge, waitFor } from "./start-bridge.suite.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "a2e-mcp-"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const permissions = { sampling: true, elicitation: true, roots: true };
const everything = { cmd: officialServer("everything"), permissions, log_level: "debug" } as const;

interface Result {
  content: Record<string, unknown>[];
  structured?: unknown;
}

/** The tools that a server lists for the SDK's own client, with the capabilities of the bridge. */
async function listNames([command, ...args]: readonly [string, ...string[]], env?: Record<string, string>) {
  const client = new Client({ name: "lister", version: "1.0.0" });
  client.registerCapabilities({ sampling: {}, elicitation: { form: {}, url: {} }, roots: {} });
  client.setRequestHandler("roots/list", () => ({ roots: [] }));
  await client.connect(
    new StdioClientTransport({ command, args, stderr: "ignore", ...(env === undefined ? {} : { env }) }),
  );
  try {
    const { tools } = await client.listTools();
    return tools.map(({ name }) => name).toSorted();
  } finally {
    await client.close();
  }
}

/** A host with the everything server, and an agent that answers all of its requests. */
async function startEverything() {
  const bridge = await startBridge({ every: everything });
  const { client } = bridge;
  const asked: Record<string, unknown>[] = [];
  const pushed: { method: string; params: Record<string, unknown> }[] = [];
  client.onPush("mcp/server/push", (push) => pushed.push(push as never));
  client.onAsk(mcp.asks.sample, async (request) => {
    asked.push(request);
    return { content: { type: "text", text: "a completion" }, model: "test-model", stop_reason: "endTurn" };
  });
  client.onAsk(mcp.asks.elicit, async (request) => {
    asked.push(request);
    return { action: "accept", content: request.mode === "form" ? { name: "Ada", interpretation: "technical" } : {} };
  });
  client.onAsk(mcp.asks.listRoots, async () => ({ roots: [{ uri: `file://${folder}`, name: "work" }] }));
  await bridge.status("every", "ready");
  const call = async (tool: string, args = {}) => {
    const result = await bridge.call(`every__${tool}`, args);
    expect(result.success, `${tool}: ${result.error}`).toBe(true);
    return result.data as unknown as Result;
  };
  return { ...bridge, call, asked, pushed };
}

test("every tool of the everything server works through the bridge", async () => {
  await using bridge = await startEverything();
  const { call, asked } = bridge;
  const called = new Set<string>();
  const tool = (name: string, args = {}) => {
    called.add(`every__${name}`);
    return call(name, args);
  };

  expect((await tool("echo", { message: "hello" })).content).toEqual([{ type: "text", text: "Echo: hello" }]);
  const annotated = await tool("get-annotated-message", { messageType: "error", includeImage: true });
  expect(annotated.content[0]).toMatchObject({ type: "text", annotations: { priority: 1 } });
  expect(annotated.content[1]).toMatchObject({ type: "image", mime_type: "image/png", data: expect.any(String) });
  expect(JSON.stringify(await tool("get-env"))).not.toContain("VITEST");
  const links = await tool("get-resource-links", { count: 2 });
  expect(links.content.filter(({ type, server_id }) => type === "resource_link" && server_id === "every")).toHaveLength(
    2,
  );
  expect((await tool("get-resource-reference", { resourceType: "Blob", resourceId: 1 })).content).toContainEqual(
    expect.objectContaining({ type: "resource", resource: expect.objectContaining({ type: "blob" }) }),
  );
  expect((await tool("get-structured-content", { location: "Chicago" })).structured).toMatchObject({
    conditions: expect.any(String),
  });
  expect(JSON.stringify(await tool("get-sum", { a: 2, b: 3 }))).toContain("5");
  expect((await tool("get-tiny-image")).content).toContainEqual(expect.objectContaining({ type: "image" }));
  const zipped = { name: "a.gz", data: "data:text/plain,hello", outputType: "resource" };
  expect((await tool("gzip-file-as-resource", zipped)).content[0]).toMatchObject({ type: "resource" });
  await tool("toggle-simulated-logging");
  await tool("toggle-simulated-logging");
  await tool("toggle-subscriber-updates");
  await tool("toggle-subscriber-updates");
  await tool("trigger-long-running-operation", { duration: 0.2, steps: 2 });
  expect(JSON.stringify(await tool("get-roots-list"))).toContain(folder);
  expect(JSON.stringify(await tool("trigger-sampling-request", { prompt: "say it" }))).toContain("a completion");
  expect(JSON.stringify(await tool("trigger-elicitation-request"))).toContain("Ada");
  await tool("trigger-url-elicitation", { url: "https://example.com/sign" });
  const research = await tool("simulate-research-query", { topic: "tea", ambiguous: true });
  expect(JSON.stringify(research)).toContain("Research Report: tea (technical)");

  expect(await listNames(everything.cmd)).toEqual([...called].map((name) => name.replace("every__", "")).toSorted());
  const { tools } = await bridge.client.tools.list({});
  expect(new Set(tools.map(({ name }) => name))).toEqual(called);
  expect(asked).toMatchObject([
    { server_id: "every", messages: [{ role: "user" }], max_tokens: 100 },
    { server_id: "every", mode: "form", requested_schema: { type: "object" } },
    { server_id: "every", mode: "url", url: "https://example.com/sign", elicitation_id: expect.stringMatching(/.+/) },
    { server_id: "every", mode: "form", message: expect.stringContaining('"tea"') },
  ]);
});

test("tools are listed with schema, annotations and source, and their progress is streamed", async () => {
  await using bridge = await startEverything();
  const progress: unknown[] = [];

  const { tools } = await bridge.client.tools.list({ query: "long running operation" });
  await bridge.client.tools.call(
    { tool_name: "every__trigger-long-running-operation", arguments: { duration: 0.2, steps: 4 } },
    { onEvent: ({ kind, data }) => progress.push([kind, data.progress, data.total]) },
  );

  expect(tools[0]).toMatchObject({
    name: "every__trigger-long-running-operation",
    source: "mcp:every",
    kind: "mcp",
    input_schema: { properties: { steps: { type: "number" } } },
    annotations: expect.objectContaining({ title: expect.any(String) }),
  });
  expect(progress).toEqual([1, 2, 3, 4].map((step) => ["progress", step, 4]));
});

test("a tool that fails is a result with its own text, not an error of the call", async () => {
  await using bridge = await startEverything();

  const result = await bridge.client.tools.call({ tool_name: "every__get-sum", arguments: { a: "two", b: 3 } });

  expect(result.data).toMatchObject({ success: false, error_code: "tool_error" });
  expect(result.data.error).toMatch(/expected number/i);
});

test("resources are listed, read as text and as blob, and watched", async () => {
  await using bridge = await startEverything();
  const { client, pushed } = bridge;
  const uri = "demo://resource/dynamic/text/1";

  const { resources } = await client.mcp.listResources({});
  const { templates } = await client.mcp.listResourceTemplates({ server_id: "every" });
  const text = await client.mcp.readResource({ uri, server_id: "every" });
  const blob = await client.mcp.readResource({ uri: "demo://resource/dynamic/blob/1" });

  expect(resources).toHaveLength(7);
  expect(resources[0]).toMatchObject({ server_id: "every", mime_type: "text/markdown" });
  expect(templates.map(({ uri_template }) => uri_template)).toContain("demo://resource/dynamic/text/{resourceId}");
  expect(text).toMatchObject({ server_id: "every", contents: [{ uri, type: "text", text: expect.any(String) }] });
  expect(blob).toMatchObject({ server_id: "every", contents: [{ type: "blob", blob: expect.any(String) }] });
  await expect(client.mcp.readResource({ uri: "demo://no/such/thing" })).rejects.toMatchObject({
    code: "mcp_resource_not_found",
  });

  await client.mcp.subscribeResource({ uri, server_id: "every" });
  await bridge.call("toggle-subscriber-updates");
  const update = await waitFor(() => pushed.find(({ method }) => method.endsWith("resources/updated")), "an update");
  expect(update).toMatchObject({ server_id: "every", params: { uri } });
  await client.mcp.unsubscribeResource({ uri, server_id: "every" });
});

test("prompts are listed and rendered; an unknown prompt is answered with mcp_prompt_not_found", async () => {
  await using bridge = await startEverything();
  const { mcp: api } = bridge.client;

  const { prompts } = await api.listPrompts({ server_id: "every" });
  const rendered = await api.getPrompt({ name: "args-prompt", arguments: { city: "Oslo" } });
  const withResource = await api.getPrompt({
    name: "resource-prompt",
    arguments: { resourceType: "Text", resourceId: 1 },
    server_id: "every",
  });

  expect(prompts.map(({ name }) => name)).toEqual([
    "simple-prompt",
    "args-prompt",
    "completable-prompt",
    "resource-prompt",
  ]);
  expect(rendered).toMatchObject({ server_id: "every", messages: [{ role: "user", content: { type: "text" } }] });
  expect(JSON.stringify(rendered)).toContain("Oslo");
  expect(withResource.messages[1]?.content).toMatchObject({ type: "resource", resource: { type: "text" } });
  await expect(api.getPrompt({ name: "no-such-prompt" })).rejects.toMatchObject({ code: "mcp_prompt_not_found" });
  await expect(api.getPrompt({ name: "args-prompt" })).rejects.toMatchObject({ code: "schema_violation" });
});

test("log messages of a server reach the agent", async () => {
  await using bridge = await startEverything();

  await bridge.client.mcp.subscribeResource({ uri: "demo://resource/dynamic/text/1" });

  const logged = await waitFor(() => bridge.pushed.find(({ method }) => method === "notifications/message"), "a log");
  expect(logged.params).toMatchObject({ level: "info", data: expect.stringContaining("Received Subscribe") });
});

test("every tool of the filesystem server works, within the folder that it was given", async () => {
  await writeFile(join(folder, "a.txt"), "one\ntwo\n");
  await writeFile(join(folder, "dot.png"), Buffer.from("iVBORw0KGgo=", "base64"));
  await using bridge = await startBridge({ files: { cmd: officialServer("filesystem", folder) } });
  await bridge.status("files", "ready");
  const path = (name: string) => join(folder, name);
  const steps: [string, object, string][] = [
    ["read_file", { path: path("a.txt") }, "one"],
    ["read_text_file", { path: path("a.txt"), head: 1 }, "one"],
    ["read_media_file", { path: path("dot.png") }, "image/png"],
    ["read_multiple_files", { paths: [path("a.txt")] }, "two"],
    ["write_file", { path: path("b.txt"), content: "three" }, "Successfully"],
    ["edit_file", { path: path("b.txt"), edits: [{ oldText: "three", newText: "four" }] }, "four"],
    ["create_directory", { path: path("sub") }, "Successfully"],
    ["list_directory", { path: folder }, "a.txt"],
    ["list_directory_with_sizes", { path: folder }, "a.txt"],
    ["directory_tree", { path: folder }, "a.txt"],
    ["move_file", { source: path("b.txt"), destination: path("sub/b.txt") }, "Successfully"],
    ["search_files", { path: folder, pattern: "**/b.txt" }, "sub"],
    ["get_file_info", { path: path("a.txt") }, "size"],
    ["list_allowed_directories", {}, folder],
  ];

  for (const [tool, args, expected] of steps)
    expect(JSON.stringify((await bridge.call(`files__${tool}`, args)).data), tool).toContain(expected);
  const outside = await bridge.call("files__read_file", { path: "/etc/hostname" });
  const { tools } = await bridge.client.tools.list({});

  expect(await readFile(path("sub/b.txt"), "utf8")).toBe("four");
  expect(outside).toMatchObject({ success: false, error: expect.stringContaining("denied") });
  expect(tools.map(({ name }) => name)).toEqual(steps.map(([tool]) => `files__${tool}`));
  expect(await listNames(officialServer("filesystem", folder))).toEqual(steps.map(([tool]) => tool).toSorted());
});

test("every tool of the memory server works, and its data is in the folder of its environment", async () => {
  const file = join(folder, "memory.jsonl");
  await using bridge = await startBridge({ graph: { cmd: officialServer("memory"), env: { MEMORY_FILE_PATH: file } } });
  await bridge.status("graph", "ready");
  const relations = [{ from: "Ada", to: "Tea", relationType: "drinks" }];
  const steps: [string, object, string][] = [
    [
      "create_entities",
      {
        entities: ["Ada", "Tea"].map((name) => ({ name, entityType: "thing", observations: ["first"] })),
      },
      "Ada",
    ],
    ["create_relations", { relations }, "drinks"],
    ["add_observations", { observations: [{ entityName: "Ada", contents: ["second"] }] }, "second"],
    ["read_graph", {}, "drinks"],
    ["search_nodes", { query: "second" }, "Ada"],
    ["open_nodes", { names: ["Tea"] }, "Tea"],
    ["delete_observations", { deletions: [{ entityName: "Ada", observations: ["second"] }] }, "deleted"],
    ["delete_relations", { relations }, "deleted"],
    ["delete_entities", { entityNames: ["Tea"] }, "deleted"],
  ];

  for (const [tool, args, expected] of steps)
    expect(JSON.stringify((await bridge.call(`graph__${tool}`, args)).data), tool).toContain(expected);
  const { tools } = await bridge.client.tools.list({});

  expect(await readFile(file, "utf8")).toContain("Ada");
  expect(tools).toHaveLength(steps.length);
  expect(await listNames(officialServer("memory"))).toEqual(steps.map(([tool]) => tool).toSorted());
});
