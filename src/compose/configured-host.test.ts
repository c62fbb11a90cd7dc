import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { tools } from "../caps/tools/protocol.ts";
import { A2EClient } from "../client/client.ts";
import { toHostConfig } from "../config/parsing.ts";
import { PluginLoadError } from "../config/plugin-loading.ts";
import type { A2EHostConfigInput } from "../config/schema.ts";
import { defaultPlugins } from "../config/schema.ts";
import type { A2EHost } from "../host/host.ts";
import type { SnapshotStore } from "../host/ports/snapshot-store.ts";
import type { JsonObject } from "../protocol/json.ts";
import { createMemorySnapshotStore } from "../stores/snapshots/memory-snapshot-store.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { createDirectTransport } from "../transports/direct.ts";
import { startConfiguredHost } from "./configured-host.ts";

const nextFolder = useTemporaryFolder();

function configIn(baseDir: string, input: A2EHostConfigInput = {}) {
  return toHostConfig(input, { baseDir, env: {} });
}

function connect(host: A2EHost, authToken?: string): Promise<A2EClient> {
  const transport = createDirectTransport(() => host.sessions.create());
  return A2EClient.connect({ transport, ...(authToken === undefined ? {} : { authToken }) });
}

async function callJs(host: A2EHost): Promise<unknown> {
  await using client = await connect(host);
  const answer = await client.use(tools).call({ tool_name: "js_eval", arguments: { code: "6 * 7" } });
  return answer.data.data;
}

test("an empty config gives a host with tools, folders of its own and an audit file", async () => {
  const folder = nextFolder();
  const config = configIn(folder);
  const host = await startConfiguredHost(config);
  expect(host.capabilities).toEqual(defaultPlugins);
  expect(await callJs(host)).toBe(42);
  await host.close(0);
  const lines = readFileSync(config.audit.path, "utf8").trim().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toContain("tool/call/req");
  expect(existsSync(config.workspace_dir)).toBe(true);
  expect(existsSync(join(folder, ".a2e", "snapshots.sqlite"))).toBe(true);
  expect(statSync(config.data_dir).mode & 0o077).toBe(0);
  expect(readFileSync(join(config.data_dir, ".gitignore"), "utf8")).toBe("*\n");
});

test("audit and plugins that are switched off leave no file", async () => {
  const config = configIn(nextFolder(), {
    audit: { enabled: false },
    plugins: [{ type: "tools", metadata: { enabled: false } }],
    snapshot_store: { type: "memory" },
  });
  await using host = await startConfiguredHost(config);
  expect(host.capabilities).toEqual([]);
  await expect(connect(host)).rejects.toThrow("no_caps");
  await host.close(0);
  expect(existsSync(config.audit.path)).toBe(false);
  expect(config.snapshot_store.path).toBeUndefined();
});

test("limits, token and the name of the host come from the config", async () => {
  const config = configIn(nextFolder(), {
    host_id: "lab",
    auth_token: "secret",
    global_limits: { max_parallel_calls: 7 },
  });
  await using host = await startConfiguredHost(config);
  expect(host.hostId).toBe("lab");
  await expect(connect(host)).rejects.toThrow(/Handshake failed/);
  await using client = await connect(host, "secret");
  expect(client.maxParallel).toBe(7);
});

test("a file store keeps its snapshots in the configured folder", async () => {
  const folder = nextFolder();
  await using _host = await startConfiguredHost(configIn(folder, { snapshot_store: { type: "file", path: "saved" } }));
  expect(statSync(join(folder, "saved")).isDirectory()).toBe(true);
});

test("a tool module is found relative to the config", async () => {
  const folder = nextFolder();
  mkdirSync(folder);
  const tool = `{ name: "greet", description: "Greets.", inputSchema: {}, kind: "function", tags: [], version: "1", isIdempotent: true,
    isStreaming: false, isDeferred: false, source: "", check: (value) => ({ value }), run: () => ({ data: "hello" }) }`;
  writeFileSync(join(folder, "greet.mjs"), `export const greet = ${tool};`);
  const plugins = [{ type: "tools", metadata: { builtin: false, modules: ["./greet.mjs"] } }];
  await using host = await startConfiguredHost(configIn(folder, { plugins }));
  expect(host.tools.list().map(({ name }) => name)).toEqual(["greet"]);
});

describe("a start that fails", () => {
  test("names the plugin that cannot be loaded", async () => {
    const config = configIn(nextFolder(), { plugins: [{ type: "tolos" }] });
    await expect(startConfiguredHost(config)).rejects.toThrow(PluginLoadError);
  });

  test("names the setting whose folder cannot be made", async () => {
    const folder = nextFolder();
    writeFileSync(folder, "in the way");
    const config = configIn(folder, { workspace_dir: "work" });
    await expect(startConfiguredHost(config)).rejects.toThrow(/^data_dir: the folder .* cannot be made/);
  });

  test("names a damaged snapshot store", async () => {
    const path = nextFolder();
    writeFileSync(path, "this is no database".repeat(100));
    const config = configIn(nextFolder(), { snapshot_store: { type: "sqlite", path } });
    await expect(startConfiguredHost(config)).rejects.toThrow(/^snapshot_store: .*is damaged or not a SQLite database/);
  });

  test("does not show the values of environment variables", async () => {
    const failing = async () => (options: JsonObject) => ({
      capability: tools,
      setup: () => Promise.reject(new Error(`cannot reach ${options.database}`)),
      session: () => ({ handlers: {} }),
    });
    const env = { LINK: "postgres://me:hunter2@db" };
    const plugins = [{ type: "tools", metadata: { database: `\${LINK}` } }];
    const config = toHostConfig({ plugins }, { baseDir: nextFolder(), env });
    const start = startConfiguredHost(config, { plugins: { tools: failing } });
    await expect(start).rejects.toThrow(/^plugin "tools" failed to start: cannot reach \$\{LINK\}$/);
    expect(inspect(await start.catch((error: unknown) => error))).not.toContain("hunter2");
  });

  test("closes the parts it had opened", async () => {
    let isClosed = false;
    const store = createMemorySnapshotStore();
    const snapshots: SnapshotStore = {
      ...store,
      async close() {
        isClosed = true;
      },
    };
    const failing = async () => () => ({
      capability: tools,
      setup: () => Promise.reject(new Error("no power")),
      session: () => ({ handlers: {} }),
    });
    const config = configIn(nextFolder());
    const start = startConfiguredHost(config, { plugins: { tools: failing }, parts: { snapshots } });
    await expect(start).rejects.toThrow('plugin "tools" failed to start: no power');
    expect(isClosed).toBe(true);
  });
});

test("if a part fails, the parts before it are closed", async () => {
  const folder = nextFolder();
  mkdirSync(folder);
  const config = configIn(folder, { snapshot_store: { type: "sqlite", path: "." } });
  await expect(startConfiguredHost(config)).rejects.toThrow(/^snapshot_store: /);
  // The database as well: another host finds the folder free.
  await (await startConfiguredHost(configIn(folder))).close(0);

  const closed: string[] = [];
  const snapshots: SnapshotStore = {
    ...createMemorySnapshotStore(),
    close: async () => {
      closed.push("snapshots");
      throw new Error("a second failure");
    },
  };
  const audit = { record() {}, close: async () => void closed.push("audit") };
  const clashing = configIn(folder, { plugins: [{ type: "tools" }, { type: "tools", name: "more" }] });
  const plugins = clashing.plugins.map((entry) => ({ ...entry, name: "same" }));
  const started = startConfiguredHost({ ...clashing, plugins }, { parts: { snapshots, audit } });
  await expect(started).rejects.toThrow('two plugins are called "same"');
  expect(closed).toEqual(["audit", "snapshots"]);
});

test("a data folder belongs to a single host with lasting sessions; hosts without lasting sessions may share it", async () => {
  const folder = nextFolder();
  const first = await startConfiguredHost(configIn(folder));
  await expect(startConfiguredHost(configIn(folder))).rejects.toThrow("another host uses it");
  const passing = await startConfiguredHost(configIn(folder), { areSessionsKept: false });
  expect(await callJs(passing)).toBe(42);
  await passing.close(0);
  await first.close(0);
  await (await startConfiguredHost(configIn(folder))).close(0);
});
