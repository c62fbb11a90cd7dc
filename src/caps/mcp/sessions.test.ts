// Who may have which servers, and what a session keeps of them.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { core } from "../../protocol/core.ts";
import { createSqliteDatabase } from "../../stores/sqlite-database.ts";
import { startHost } from "../../testing/start-host.ts";
import { toolsPlugin } from "../tools/plugin.ts";
import type { McpOptions } from "./options.ts";
import { mcpPlugin } from "./plugin.ts";
import { mcp } from "./protocol.ts";
import { officialServer, ownServer, startBridge, waitFor } from "./start-bridge.suite.ts";

const cmd = ownServer("hostile");
const registration = { commands: [[...cmd, "..."]] };
const textOf = (result: { data: unknown }) => (result.data as { content: { text: string }[] }).content[0]?.text;

test("an agent registers a server that the operator allows, uses it, and takes it away", async () => {
  await using bridge = await startBridge({}, { registration });
  const { client } = bridge;

  const { ok, server } = await client.mcp.registerServer({ config: { server_id: "mine", transport: "stdio", cmd } });
  const echoed = await bridge.call("mine__echo", { text: "hello" });
  const { servers } = await client.mcp.listServers({ status_filter: "ready" });
  const gone = await client.mcp.unregisterServer({ server_id: "mine" });
  const { tools } = await client.tools.list({});

  expect({ ok, ...server }).toMatchObject({ ok: true, server_id: "mine", status: "ready", scope: "session" });
  expect(server.tools_count).toBeGreaterThan(0);
  expect(textOf(echoed)).toBe("hello");
  expect(servers.map(({ server_id }) => server_id)).toEqual(["mine"]);
  expect(gone).toEqual({ ok: true, server_id: "mine" });
  expect(tools).toEqual([]);
});

test("a server that an agent registers is its session's own", async () => {
  await using bridge = await startBridge({}, { registration });
  const other = await bridge.connect();

  await bridge.client.mcp.registerServer({ config: { server_id: "mine", cmd } });

  expect((await other.mcp.listServers({})).servers).toEqual([]);
  expect((await other.tools.list({})).tools).toEqual([]);
  await expect(other.tools.call({ tool_name: "mine__echo" })).rejects.toMatchObject({ code: "unknown_tool" });
});

test.each([
  ["a program, where nothing is allowed", {}, { cmd }],
  ["another program", registration, { cmd: ["/bin/sh", "-c", "true"] }],
  ["another script", registration, { cmd: [cmd[0], "/tmp/other.mjs"] }],
  ["a variable that changes what a program does", registration, { cmd, env: { NODE_OPTIONS: "--require=/tmp/x" } }],
  ["a folder in which a name means something else", registration, { cmd, cwd: "/tmp" }],
  ["an address, where none is allowed", registration, { url: "http://127.0.0.1:1/mcp" }],
  ["another address", { urls: ["https://mcp.example.com/*"] }, { url: "https://mcp.example.org/mcp" }],
  ["an address that climbs out", { urls: ["https://a.example/mcp/*"] }, { url: "https://a.example/mcp/../admin" }],
] as const)("an agent that registers %s is refused", async (_, allowed, config) => {
  await using bridge = await startBridge({}, { registration: allowed as McpOptions["registration"] });

  const refused = bridge.client.mcp.registerServer({ config: { server_id: "mine", ...config } as never });

  await expect(refused).rejects.toMatchObject({ code: "forbidden", message: expect.stringContaining("registration.") });
  expect((await bridge.client.mcp.listServers({})).servers).toEqual([]);
});

test.each([
  [{ server_id: "a__b", cmd }, "server_id"],
  [{ server_id: "x".repeat(40), cmd }, "server_id"],
  [{ server_id: "a", transport: "carrier pigeon", cmd }, "transport"],
  [{ server_id: "a", transport: "http", url: "ftp://example.com" }, "url"],
  [{ server_id: "a", transport: "http", url: "https://user:pass@example.com" }, "credentials"],
  [{ server_id: "a", transport: "stdio" }, "cmd"],
])("a config that cannot be right is a schema_violation that says what: %j", async (config, word) => {
  await using bridge = await startBridge({}, { registration });

  const refused = bridge.client.mcp.registerServer({ config } as never);

  await expect(refused).rejects.toMatchObject({ code: "schema_violation", message: expect.stringContaining(word) });
});

test("a registration that does not connect is an error and leaves nothing behind", async () => {
  await using bridge = await startBridge({}, { registration });

  const failed = bridge.client.mcp.registerServer({ config: { server_id: "mine", cmd: [...cmd, "--die"] } });

  await expect(failed).rejects.toMatchObject({ code: "mcp_server_unavailable" });
  expect((await bridge.client.mcp.listServers({})).servers).toEqual([]);
});

test("servers of the config are not an agent's to remove, and a taken id is not given again", async () => {
  await using bridge = await startBridge({ host: { cmd } }, { registration });

  await expect(bridge.client.mcp.unregisterServer({ server_id: "host" })).rejects.toMatchObject({ code: "forbidden" });
  await expect(bridge.client.mcp.registerServer({ config: { server_id: "host", cmd } })).rejects.toMatchObject({
    code: "schema_violation",
  });
  await expect(bridge.client.mcp.unregisterServer({ server_id: "hots" })).rejects.toMatchObject({
    code: "mcp_server_not_found",
    message: expect.stringContaining('"host"'),
  });
});

test("a server of the config with scope session has a process for each session", async () => {
  await using bridge = await startBridge({ own: { cmd, scope: "session" } });
  const other = await bridge.connect();
  const pidOf = async (client: typeof other) => {
    await waitFor(async () => ((await client.tools.list({})).tools.length > 0 ? true : undefined), "tools");
    return textOf((await client.tools.call({ tool_name: "own__pid" })).data);
  };

  const pids = [await pidOf(bridge.client), await pidOf(other)];

  expect(new Set(pids).size).toBe(2);
});

test("a shared server has one process, which the second host start shows without starting it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "a2e-mcp-"));
  const start = async () =>
    startHost({
      plugins: [toolsPlugin({ builtin: false }), mcpPlugin({ servers: { lazy: { cmd } }, ping_interval_ms: 0 })],
      database: await createSqliteDatabase({ path: join(folder, "a2e.sqlite") }),
    });
  const statusOf = async ({ client }: Awaited<ReturnType<typeof start>>) =>
    (await client.mcp.listServers({})).servers[0]?.status;
  try {
    const first = await start();
    await waitFor(async () => ((await statusOf(first)) === "ready" ? true : undefined), "the first start");
    await first.close();

    await using second = await start();
    const { tools } = await second.client.tools.list({});
    const before = await statusOf(second);
    const { data } = await second.client.tools.call({ tool_name: "lazy__echo", arguments: { text: "woken" } });

    expect(tools.map(({ name }) => name)).toContain("lazy__echo");
    expect(before).toBe("disconnected");
    expect(textOf(data)).toBe("woken");
    expect(await statusOf(second)).toBe("ready");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("a fork has the servers of its session, each with a process of its own", async () => {
  await using bridge = await startBridge({}, { registration });
  await bridge.client.mcp.registerServer({ config: { server_id: "mine", cmd, env: {} } });
  const original = textOf(await bridge.call("mine__pid"));

  const { session_id: sessionId } = await bridge.client.rpc(core.calls.fork, {});
  const fork = await bridge.connect({ sessionId, agentId: bridge.client.agentId });
  await waitFor(async () => ((await fork.tools.list({})).tools.length > 0 ? true : undefined), "tools of the fork");
  const { data } = await fork.tools.call({ tool_name: "mine__pid" });

  expect(textOf(data)).not.toBe(original);
});

test("what an agent hands to its server is not in the state of its session as it is", async () => {
  const secret = "sk-very-secret-0123456789";
  await using bridge = await startBridge({}, { registration: { ...registration, env: ["API_KEY"] } });

  await bridge.client.mcp.registerServer({ config: { server_id: "mine", cmd, env: { API_KEY: secret } } });
  const environment = textOf(await bridge.call("mine__env"));
  const [session] = bridge.host.sessions.list();
  const saved = await bridge.client.rpc(core.calls.snapshot, {});

  expect(environment).toContain(secret);
  expect(session).toBeDefined();
  expect(JSON.stringify([saved, await bridge.client.mcp.listServers({})])).not.toContain(secret);
});

test("allow lists hide tools, and resources by their address", async () => {
  await using bridge = await startBridge({
    every: {
      cmd: officialServer("everything"),
      tool_allow_list: ["echo", "get-s*"],
      resource_allow_list: ["demo://resource/static/document/f*"],
    },
  });
  await bridge.status("every", "ready");
  const { mcp: api } = bridge.client;

  const { tools } = await bridge.client.tools.list({});
  const { resources } = await api.listResources({ server_id: "every" });

  expect(tools.map(({ name }) => name)).toEqual(["every__echo", "every__get-structured-content", "every__get-sum"]);
  expect(resources.map(({ uri }) => uri)).toEqual(["demo://resource/static/document/features.md"]);
  for (const uri of ["demo://resource/dynamic/text/1", "demo://resource/static/document/f/../startup.md"]) {
    await expect(api.readResource({ uri, server_id: "every" })).rejects.toMatchObject({
      code: "mcp_resource_not_found",
    });
    await expect(api.subscribeResource({ uri, server_id: "every" })).rejects.toMatchObject({
      code: "mcp_resource_not_found",
    });
  }
});

test("a server without permission cannot ask, and one whose agent refuses is told so", {
  timeout: 60_000,
}, async () => {
  const everything = officialServer("everything");
  await using bridge = await startBridge({
    off: { cmd: everything },
    on: { cmd: everything, permissions: { sampling: true } },
  });
  await Promise.all([bridge.status("off", "ready"), bridge.status("on", "ready")]);
  const { tools } = await bridge.client.tools.list({});
  const ask = () => bridge.call("on__trigger-sampling-request", { prompt: "hello" });

  const unhandled = await ask();
  const stop = bridge.client.onAsk(mcp.asks.sample, async () => ({ error: "not today" }));
  const refused = await ask();
  stop();
  bridge.client.onAsk(mcp.asks.sample, async () => {
    throw mcp.error("mcp_sampling_refused", "never");
  });
  const thrown = await ask();

  expect(tools.some(({ name }) => name === "off__trigger-sampling-request")).toBe(false);
  expect(unhandled).toMatchObject({ success: false, error: expect.stringContaining("sampling refused") });
  expect(refused.error).toContain("mcp_sampling_refused: not today");
  expect(thrown.error).toContain("mcp_sampling_refused: never");
});

test("an agent that does not answer a server's question is given up after its time", async () => {
  await using bridge = await startBridge(
    { on: { cmd: officialServer("everything"), permissions: { sampling: true } } },
    { ask_timeout_ms: 100 },
  );
  await bridge.status("on", "ready");
  bridge.client.onAsk(mcp.asks.sample, () => new Promise(() => {}));

  const result = await bridge.call("on__trigger-sampling-request", { prompt: "hello" });

  expect(result.error).toContain("timeout");
});

test("where several sessions have calls under way, none is asked on behalf of another", {
  timeout: 60_000,
}, async () => {
  await using bridge = await startBridge({
    on: { cmd: officialServer("everything"), permissions: { sampling: true } },
  });
  await bridge.status("on", "ready");
  const other = await bridge.connect();
  const asked: string[] = [];
  bridge.client.onAsk(mcp.asks.sample, async () => void asked.push("first") as never);
  other.onAsk(mcp.asks.sample, async () => void asked.push("second") as never);

  const busy = other.tools.call({ tool_name: "on__trigger-long-running-operation", arguments: { duration: 1 } });
  await waitFor(async () => ((await bridge.status("on", "ready")).in_flight > 0 ? true : undefined), "a call");
  const result = await bridge.call("on__trigger-sampling-request", { prompt: "whose?" });
  await busy;

  expect(result.error).toContain("which agent to ask is not known");
  expect(asked).toEqual([]);
});
