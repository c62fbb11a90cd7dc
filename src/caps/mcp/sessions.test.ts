// The servers of each session, and their state.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { referenceMcpCommand } from "../../conformance/reference-mcp.ts";
import { core } from "../../protocol/core.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { startHost } from "../../testing/start-host.ts";
import { toolsPlugin } from "../tools/plugin.ts";
import { mcpPlugin } from "./plugin.ts";
import { officialServer, ownServer, startBridge, waitFor } from "./start-bridge.suite.ts";

const cmd = ownServer("hostile");
const registration = { commands: [[...cmd, "..."]] };
const textOf = (result: { data: unknown }) => (result.data as { content: { text: string }[] }).content[0]?.text;

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

test("a shared server has one process, and after a restart of the host its tools are listed without starting it", async () => {
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

test("a fork has the servers of its session, each with its own process", async () => {
  await using bridge = await startBridge({}, { registration });
  await bridge.client.mcp.registerServer({ config: { server_id: "mine", cmd, env: {} } });
  const original = textOf(await bridge.call("mine__pid"));

  const { session_id: sessionId } = await bridge.client.rpc(core.calls.fork, {});
  const fork = await bridge.connect({ sessionId, agentId: bridge.client.agentId });
  await waitFor(async () => ((await fork.tools.list({})).tools.length > 0 ? true : undefined), "tools of the fork");
  const { data } = await fork.tools.call({ tool_name: "mine__pid" });

  expect(textOf(data)).not.toBe(original);
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

test("an agent that ends a subscription twice at once does not end the subscription of another", async () => {
  const uri = "ref://text";
  await using bridge = await startBridge({ ref: { cmd: [...referenceMcpCommand] } });
  await bridge.status("ref", "ready");
  const other = await bridge.connect();
  const unsubscribe = () => bridge.client.mcp.unsubscribeResource({ uri, server_id: "ref" });
  const updates: unknown[] = [];
  other.onPush("mcp/server/push", ({ params }) => updates.push(params));
  await other.mcp.subscribeResource({ uri, server_id: "ref" });

  await bridge.client.mcp.subscribeResource({ uri, server_id: "ref" });
  await Promise.all([unsubscribe(), unsubscribe()]);
  await bridge.call("ref__touch", { uri });

  await waitFor(() => (updates.length > 0 ? true : undefined), "an update");
  expect(updates).toEqual([{ uri }]);
});

test("a session that begins while its server is down receives changes once the server is up", async () => {
  const folder = await mkdtemp(join(tmpdir(), "a2e-mcp-"));
  const gate = join(folder, "open");
  const uri = "ref://text";
  // A server that exits at once while the file does not exist.
  const gated = ["/bin/sh", "-c", `[ -e "${gate}" ] && exec "$@"`, "sh", ...referenceMcpCommand];
  try {
    await writeFile(gate, "");
    await using bridge = await startBridge({ ref: { cmd: gated } }, { max_backoff_ms: 50 });
    await bridge.status("ref", "ready");
    await bridge.client.mcp.subscribeResource({ uri, server_id: "ref" });
    await rm(gate);
    await expect(bridge.call("ref__crash")).rejects.toMatchObject({ code: "mcp_transport_error" });
    await bridge.status("ref", "error");

    // The fork has the subscription only in the state of its session.
    const { session_id: sessionId } = await bridge.client.rpc(core.calls.fork, {});
    const fork = await bridge.connect({ sessionId, agentId: bridge.client.agentId });
    await bridge.client.mcp.unsubscribeResource({ uri, server_id: "ref" });
    const updates: unknown[] = [];
    fork.onPush("mcp/server/push", ({ method, params }) => {
      if (method === "notifications/resources/updated") updates.push(params);
    });
    await writeFile(gate, "");
    await bridge.status("ref", "ready");
    await bridge.call("ref__touch", { uri });

    await waitFor(() => (updates.length > 0 ? true : undefined), "an update");
    expect(updates).toEqual([{ uri }]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("resources of a server that is not started yet are listed and read", async () => {
  const folder = await mkdtemp(join(tmpdir(), "a2e-mcp-"));
  const servers = { ref: { cmd: [...referenceMcpCommand] }, other: { cmd } };
  const start = async () =>
    startHost({
      plugins: [toolsPlugin({ builtin: false }), mcpPlugin({ servers, ping_interval_ms: 0 })],
      database: await createSqliteDatabase({ path: join(folder, "a2e.sqlite") }),
    });
  try {
    const first = await start();
    await waitFor(async () => {
      const { servers: listed } = await first.client.mcp.listServers({ status_filter: "ready" });
      return listed.length === 2 ? true : undefined;
    }, "the first start");
    await first.close();

    await using second = await start();
    const uris: string[] = [];
    let cursor = "";
    do {
      const page = await second.client.mcp.listResources({ cursor });
      uris.push(...page.resources.map(({ uri }) => uri));
      cursor = page.next_cursor;
    } while (cursor !== "");
    await using third = await start();
    const { contents } = await third.client.mcp.readResource({ uri: "ref://text" });

    expect(uris).toEqual(["ref://text", "ref://blob"]);
    expect(contents).toMatchObject([{ text: "some text" }]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("the tools that a server shows to one agent are not shown to another", async () => {
  await using bridge = await startBridge({}, { registration });
  await bridge.client.mcp.registerServer({ config: { server_id: "mine", cmd } });
  const kept = bridge.database.prepare("SELECT count(*) AS rows FROM mcp_tools").get();

  expect(kept).toEqual({ rows: 0 });
});
