import { describe, expect, test } from "vitest";
import { defineTool } from "../../caps/tools/definition/define-tool.ts";
import { testTools } from "./conformance/test-tools.suite.ts";
import { connectSecond } from "./mcp-clients.suite.ts";
import { addTool, useMcpHosts } from "./started-mcp-host.suite.ts";

const startHost = useMcpHosts();

const deferredTool = defineTool({
  name: "rare",
  description: "Seldom needed.",
  deferred: true,
  input: { type: "object", properties: {} },
  run: () => "rare",
});

describe.each(["legacy", "auto"] as const)("with version negotiation %s", (mode) => {
  test("progress of a tool reaches the client in order, with its total", async () => {
    const { url } = await startHost({ tools: testTools });
    const client = await connectSecond(url, mode);
    const seen: { progress: number; total?: number }[] = [];

    await client.callTool(
      { name: "test_tool_with_progress", arguments: {} },
      { onprogress: ({ progress, total }) => void seen.push({ progress, ...(total === undefined ? {} : { total }) }) },
    );

    expect(seen).toEqual([
      { progress: 0, total: 100 },
      { progress: 50, total: 100 },
      { progress: 100, total: 100 },
    ]);
  });

  test("a call that the client cancels is cancelled in the host", async () => {
    let started = () => {};
    const isStarted = new Promise<void>((resolve) => {
      started = resolve;
    });
    let ended = (_reason: unknown) => {};
    const isEnded = new Promise<unknown>((resolve) => {
      ended = resolve;
    });
    const sleepTool = defineTool({
      name: "sleep",
      description: "Waits until it is told not to.",
      input: { type: "object", properties: {} },
      run: (_args, { signal }) =>
        new Promise((_resolve, reject) => {
          started();
          signal.addEventListener("abort", () => {
            ended(signal.reason);
            reject(signal.reason as Error);
          });
        }),
    });
    const { url, host } = await startHost({ tools: [sleepTool] });
    const client = await connectSecond(url, mode);
    const controller = new AbortController();

    const call = client.callTool({ name: "sleep", arguments: {} }, { signal: controller.signal });
    const isRefused = expect(call).rejects.toThrow();
    await isStarted;
    controller.abort();

    await isRefused;
    expect(await isEnded).toMatchObject({ code: "cancelled" });
    await expect.poll(() => host.sessions.list()[0]?.pendingCalls).toBe(0);
  });

  test("added and removed tools are announced, and the next list contains the change", async () => {
    const { url, host } = await startHost();
    const announced: string[][] = [];
    const client = await connectSecond(url, mode, {}, (created) => {
      created.setNotificationHandler("notifications/tools/list_changed", async () => {
        announced.push(
          (await created.listTools(undefined, { cacheMode: "reload" } as never)).tools.map(({ name }) => name),
        );
      });
    });
    await client.listTools();
    const subscription = mode === "auto" ? await client.listen({ toolsListChanged: true }) : undefined;

    const remove = host.tools.add([addTool]);
    await expect.poll(() => announced.at(-1)?.includes("add")).toBe(true);
    remove();
    await expect.poll(() => announced.at(-1)?.includes("add")).toBe(false);

    await subscription?.close();
  });

  test("a deferred tool is listed and marked", async () => {
    const { url } = await startHost({ tools: [deferredTool] });
    const client = await connectSecond(url, mode);

    const { tools } = await client.listTools();

    expect(tools.find(({ name }) => name === "rare")?._meta).toMatchObject({ "a2e/deferred": true });
  });

  test("a denied tool is neither listed nor callable, and resources that need it are not listed", async () => {
    const { url } = await startHost({ tools: [addTool], toolsOptions: { deny: ["add", "read_file", "glob"] } });
    const client = await connectSecond(url, mode);

    const names = (await client.listTools()).tools.map(({ name }) => name);
    const denied = await client.callTool({ name: "add", arguments: { a: 1, b: 1 } });

    expect(names).not.toContain("add");
    expect(denied).toMatchObject({ isError: true, _meta: { "a2e/error_code": "tool_denied" } });
    expect((await client.listResources()).resources).toEqual([]);
    expect((await client.listResourceTemplates()).resourceTemplates).toEqual([]);
    await expect(client.readResource({ uri: "workspace:///x" })).rejects.toThrow();
  });

  test("a tool of the host takes precedence over a generated tool of the same name", async () => {
    const own = defineTool({
      name: "memory_recall",
      description: "Somebody else's.",
      input: { type: "object", properties: {} },
      run: () => "not ours",
    });
    const { url } = await startHost({ tools: [own] });
    const client = await connectSecond(url, mode);

    const { tools } = await client.listTools();

    expect(tools.filter(({ name }) => name === "memory_recall")).toMatchObject([{ description: "Somebody else's." }]);
    expect(await client.callTool({ name: "memory_recall" })).toMatchObject({ content: [{ text: "not ours" }] });
  });
});

test("log events of a tool reach the client from the requested level on", async () => {
  const { url } = await startHost({ tools: testTools });
  const logged: unknown[] = [];
  const client = await connectSecond(url, "legacy", {}, (created) => {
    created.setNotificationHandler("notifications/message", ({ params }) => void logged.push(params.data));
  });

  await client.setLoggingLevel("error");
  await client.callTool({ name: "test_tool_with_logging", arguments: {} });
  await client.setLoggingLevel("info");
  await client.callTool({ name: "test_tool_with_logging", arguments: {} });

  expect(logged).toMatchObject([
    { message: "Tool execution started" },
    { message: "Tool processing data" },
    { message: "Tool execution completed" },
  ]);
});

test("a list of many tools is divided into pages that the cursor joins", async () => {
  const many = Array.from({ length: 700 }, (_, index) => ({ ...addTool, name: `tool_${index}` }));
  const { url } = await startHost({ tools: many });
  const client = await connectSecond(url, "legacy");

  const first = await client.request({ method: "tools/list" });
  const second = await client.request({ method: "tools/list", params: { cursor: first.nextCursor } });

  const names = [...first.tools, ...second.tools].map(({ name }) => name);
  expect(first.tools).toHaveLength(500);
  expect(second.nextCursor).toBeUndefined();
  expect(new Set(names).size).toBe(names.length);
  expect(names).toContain("tool_699");
  await expect(client.request({ method: "tools/list", params: { cursor: "nonsense" } })).rejects.toThrow("cursor");
});
