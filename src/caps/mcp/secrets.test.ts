// Credentials of servers appear nowhere: not in errors, lists, pushes and snapshots, not in the log, the audit and
// recordings, and not on the disk.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { AuditEntry } from "../../host/ports/audit.ts";
import { core } from "../../protocol/core.ts";
import { createMemoryRecordings } from "../../recording/memory-recordings.suite.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { startHost } from "../../testing/start-host.ts";
import { toolsPlugin } from "../tools/plugin.ts";
import { mcpPlugin } from "./plugin.ts";
import { ownServer, waitFor } from "./start-bridge.suite.ts";

const cmd = ownServer("hostile");
const [configured, registered] = ["sk-of-the-config-0123456789", "sk-of-the-agent-0123456789"];

test("credentials of servers appear nowhere, whatever the servers do with them", async () => {
  const folder = await mkdtemp(join(tmpdir(), "a2e-mcp-secrets-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const recordings = createMemoryRecordings();
  const audited: AuditEntry[] = [];
  const host = await startHost({
    plugins: [
      toolsPlugin({ builtin: false }),
      mcpPlugin({
        ping_interval_ms: 0,
        servers: {
          host: { cmd, env: { API_KEY: configured } },
          away: { url: `http://127.0.0.1:9/mcp?key=${configured}`, headers: { authorization: `Bearer ${configured}` } },
        },
        registration: { commands: [cmd, [...cmd, "--die"]], env: ["API_KEY"], urls: ["http://127.0.0.1:9/*"] },
      }),
    ],
    database: await createSqliteDatabase({ path: join(folder, "a2e.sqlite") }),
    audit: { record: (entry) => void audited.push({ ...entry }), close: async () => {} },
    recordings,
  });
  const { client } = host;
  const env = { API_KEY: registered };

  await client.mcp.registerServer({ config: { server_id: "own", cmd, env } });
  const flat = { server_id: "flat", url: `http://127.0.0.1:9/mcp?key=${registered}`, headers: { "x-key": registered } };
  await expect(client.mcp.registerServer(flat)).rejects.toMatchObject({ code: "mcp_server_unavailable" });
  for (const config of [
    { server_id: "dead", cmd: [...cmd, "--die"], env },
    { server_id: "wrong", cmd, env: { API_KEY: registered, OTHER: registered } },
    { server_id: "web", url: `http://127.0.0.1:9/mcp?key=${registered}`, headers: { "x-key": registered } },
    { server_id: "bad", transport: "http", url: `https://user:${registered}@example.com/` },
    { server_id: "worse", cmd, headers: registered },
  ])
    await expect(client.mcp.registerServer({ config })).rejects.toBeDefined();
  await waitFor(async () => (await client.tools.list({})).tools.find(({ name }) => name === "host__tell"), "tools");
  for (const server of ["host", "own"]) {
    await expect(client.tools.call({ tool_name: `${server}__tell` })).rejects.toMatchObject({
      message: "no entry for ***",
      detail: { mcp_data: { keys: [{ tried: "***" }] } },
    });
    const { data } = await client.tools.call({ tool_name: `${server}__tell`, arguments: { how: "failure" } });
    expect(data).toMatchObject({
      success: false,
      error: "refused: ***",
      data: { content: [{ text: "refused: ***" }] },
    });
    await client.tools.call({ tool_name: `${server}__chatter` });
  }
  const isLog = (line: string) => line.includes("notifications/message");
  await waitFor(() => (host.wire.filter(({ line }) => isLog(line)).length >= 4 ? true : undefined), "log messages");
  await client.mcp.listServers({});
  await client.rpc(core.calls.snapshot, {});
  const { session_id: sessionId } = await client.rpc(core.calls.fork, {});
  await host.connect({ sessionId, agentId: client.agentId });
  await client.mcp.authorizeServer({ server_id: "own", code: registered, state: "s" }).catch(() => {});
  await host.close();

  const received = host.wire.filter(({ direction }) => direction === "received").map(({ line }) => line);
  const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "latin1")));
  const shown = { received, log: host.log.entries, audited, recorded: recordings.texts, files };
  const toText = (value: unknown) =>
    JSON.stringify(value, (_key, field) => (field instanceof Error ? `${field.stack} ${field.message}` : field));
  for (const [where, what] of Object.entries(shown)) {
    expect(what.length, where).toBeGreaterThan(0);
    for (const part of what)
      for (const secret of [configured, registered]) expect(toText(part), where).not.toContain(secret);
  }
});
