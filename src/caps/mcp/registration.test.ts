// Servers that agents register.
import { expect, test } from "vitest";
import { core } from "../../protocol/core.ts";
import type { McpOptions } from "./options.ts";
import { ownServer, startBridge } from "./start-bridge.suite.ts";

const cmd = ownServer("hostile");
const registration = { commands: [[...cmd, "..."]] };
const textOf = (result: { data: unknown }) => (result.data as { content: { text: string }[] }).content[0]?.text;

test("an agent registers a server that the operator allows, uses it, and unregisters it", async () => {
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

test("an empty server_id in config does not replace the server_id beside it", async () => {
  await using bridge = await startBridge({}, { registration });
  const config = { server_id: "", name: "other", cmd };
  const { server } = await bridge.client.mcp.registerServer({ server_id: "mine", config });
  expect(server.server_id).toBe("mine");
});

test("a server that an agent registers belongs to its session only", async () => {
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
  [
    "a host that only looks like it",
    { urls: ["https://*.example.com/*"] },
    { url: "https://evil.test/x.example.com/" },
  ],
  ["an address that climbs out", { urls: ["https://a.example/mcp/*"] }, { url: "https://a.example/mcp/../admin" }],
] as const)("an agent that registers %s is refused", async (_, allowed, config) => {
  await using bridge = await startBridge({}, { registration: allowed as McpOptions["registration"] });

  const refused = bridge.client.mcp.registerServer({ config: { server_id: "mine", ...config } as never });

  await expect(refused).rejects.toMatchObject({
    code: "forbidden",
    message: expect.stringMatching(/registration\.|identity_provider/),
  });
  expect((await bridge.client.mcp.listServers({})).servers).toEqual([]);
});

test.each([
  [{ server_id: "a__b", cmd }, "server_id"],
  [{ server_id: "x".repeat(40), cmd }, "server_id"],
  [{ server_id: "a", transport: "carrier pigeon", cmd }, "transport"],
  [{ server_id: "a", transport: "http", url: "ftp://example.com" }, "url"],
  [{ server_id: "a", transport: "http", url: "https://user:pass@example.com" }, "credentials"],
  [{ server_id: "a", transport: "stdio" }, "cmd"],
])("an invalid config is a schema_violation that names the setting: %j", async (config, word) => {
  await using bridge = await startBridge({}, { registration });

  const refused = bridge.client.mcp.registerServer({ config } as never);

  await expect(refused).rejects.toMatchObject({ code: "schema_violation", message: expect.stringContaining(word) });
});

test("a registration that cannot connect is an error and leaves nothing behind", async () => {
  await using bridge = await startBridge({}, { registration });

  const failed = bridge.client.mcp.registerServer({ config: { server_id: "mine", cmd: [...cmd, "--die"] } });

  await expect(failed).rejects.toMatchObject({ code: "mcp_server_unavailable" });
  expect((await bridge.client.mcp.listServers({})).servers).toEqual([]);
});

test("an agent cannot unregister a server of the config, and an id in use is rejected", async () => {
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

test("the settings of a registered server are encrypted in the state of the session", async () => {
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

test("concurrent registrations count towards the limit like sequential ones", async () => {
  await using bridge = await startBridge({}, { registration: { ...registration, max_servers: 2 } });

  const outcomes = await Promise.allSettled(
    ["a", "b", "c", "d"].map((server_id) => bridge.client.mcp.registerServer({ config: { server_id, cmd } })),
  );

  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
  expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "forbidden" } });
  expect((await bridge.client.mcp.listServers({})).servers).toHaveLength(2);
});

test("a server registered while another is being unregistered is still there when the session is recovered", async () => {
  await using bridge = await startBridge({}, { registration });
  const { mcp: api } = bridge.client;
  await api.registerServer({ config: { server_id: "deaf", cmd: [...cmd, "--deaf"] } });

  const removing = api.unregisterServer({ server_id: "deaf" });
  await api.registerServer({ config: { server_id: "kept", cmd } });
  await api.registerServer({ config: { server_id: "deaf", cmd } });
  await removing;

  const { session_id: sessionId } = await bridge.client.rpc(core.calls.fork, {});
  const fork = await bridge.connect({ sessionId, agentId: bridge.client.agentId });
  expect((await fork.mcp.listServers({})).servers.map(({ server_id }) => server_id)).toEqual(["kept", "deaf"]);
});

test("an agent cannot unregister a server of the config, whatever its id", async () => {
  await using bridge = await startBridge({ constructor: { cmd } });
  await bridge.status("constructor", "ready");

  const refused = bridge.client.mcp.unregisterServer({ server_id: "constructor" });

  await expect(refused).rejects.toMatchObject({ code: "forbidden" });
  expect(textOf(await bridge.call("constructor__echo", { text: "still here" }))).toBe("still here");
});
