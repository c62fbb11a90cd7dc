// A secret is sent in every way, and tools try to reveal it in every way; afterwards its bytes must not be found
// anywhere.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { A2EClient } from "../../../client/client.ts";
import { startConfiguredHost } from "../../../compose/configured-host.ts";
import { replayConfigured } from "../../../compose/replay.ts";
import { toHostConfig } from "../../../config/parsing.ts";
import type { A2EHostConfig } from "../../../config/schema.ts";
import type { A2EHost } from "../../../host/host.ts";
import { createLogger } from "../../../plugin/logger.ts";
import type { PluginFactory } from "../../../plugin/plugin.ts";
import { core } from "../../../protocol/core.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { useTemporaryFolder } from "../../../stores/temporary-folder.suite.ts";
import { recordWire } from "../../../testing/recorded-wire.ts";
import { createDirectTransport } from "../../../transports/direct.ts";
import { tools } from "../../tools/protocol.ts";
import { toolkitsPlugin } from "../plugin.ts";
import { toolkits } from "../protocol.ts";
import { createProbe } from "../start-toolkits.suite.ts";

const newFolder = useTemporaryFolder();

const token = "t0ken/with+odd=chars-🔑";
const key = "another-secret-value";
const pin = 73_310_846;
const secretConfig = { token, keys: { service: key }, nested: { pin, note: "not secret" } };

/** The secret as text, as JSON, as base64 at every offset, and in URL encoding. */
const formsOf = (secret: string) => [
  Buffer.from(secret),
  Buffer.from(JSON.stringify(secret).slice(1, -1)),
  Buffer.from(
    JSON.stringify(secret)
      .slice(1, -1)
      .replace(/[^\x20-\x7e]/gu, (c) => `\\u${c.charCodeAt(0).toString(16)}\\u${c.charCodeAt(1).toString(16)}`),
  ),
  Buffer.from(encodeURIComponent(secret)),
  ...[0, 1, 2].map((offset) =>
    Buffer.from(
      Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
        .toString("base64")
        .slice(4, -4),
    ),
  ),
];
const traces = [token, key, String(pin)].flatMap(formsOf);

function expectNoTrace(bytes: Uint8Array | string, where: string): void {
  const buffer = Buffer.from(bytes as string);
  for (const trace of traces) expect(buffer.includes(trace), `${where} has ${trace}`).toBe(false);
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

let config: A2EHostConfig;
let logged: string[];
const probe = createProbe();
const plugins: Record<string, () => Promise<PluginFactory>> = {
  toolkits: async () => (options: JsonObject) => toolkitsPlugin({ ...options, toolkits: [probe.toolkit] }),
};

beforeEach(() => {
  logged = [];
  config = toHostConfig(
    {
      recording: { enabled: true },
      snapshot_store: { type: "file", path: "./snapshots" },
      plugins: [{ type: "tools" }, { type: "toolkits" }],
    },
    { baseDir: newFolder(), env: {} },
  );
});

const start = () => startConfiguredHost(config, { plugins, log: createLogger((line) => void logged.push(line)) });

async function connect(host: A2EHost, sessionId?: string) {
  const wire = recordWire(
    createDirectTransport(async () => {
      const session = sessionId === undefined ? host.sessions.create() : await host.sessions.find(sessionId);
      if (session === undefined) throw new Error("no such session");
      return session;
    }),
  );
  const client = await A2EClient.connect({ transport: wire.transport, agentId: "agent" });
  const call = (tool_name: string, args: JsonObject = {}, streaming = false) =>
    client.use(tools).call({ tool_name, arguments: args, streaming });
  const received = () =>
    JSON.stringify(wire.records.filter(({ direction }) => direction === "received").map(({ message }) => message));
  return { client, kits: client.use(toolkits), call, received };
}

test("a secret is in no answer, event, error, log, audit entry, snapshot, recording or database", async () => {
  const host = await start();
  const { client, kits, call, received } = await connect(host);

  // Sent in both shapes, under an alias, and in wrong places.
  await kits.configure({ toolkit_name: "probe", config: secretConfig });
  await kits.configure({ name: "probe", schema: secretConfig });
  await kits.install({ toolkit_name: "probe", alias: "second", config: secretConfig });
  for (const wrong of [
    { ...secretConfig, token: [token] },
    { ...secretConfig, token: { token } },
    { ...secretConfig, keys: token },
    { ...secretConfig, keys: { [key]: { [token]: token } } },
    { ...secretConfig, keys: [token] },
    { ...secretConfig, nested: { pin: String(pin), note: "" } },
    { ...secretConfig, times: "many", unknown: token },
  ])
    await expect(kits.configure({ toolkit_name: "probe", config: wrong })).rejects.toMatchObject({
      code: "schema_violation",
    });
  await expect(kits.configure({ toolkit_name: "nobody", config: secretConfig })).rejects.toThrow();
  probe.failWith("the server says $TOKEN");
  await expect(kits.configure({ toolkit_name: "probe", config: secretConfig })).rejects.toThrow("the server says");
  await kits.install({ toolkit_name: "probe", alias: "failing", config: secretConfig });
  probe.failWith(undefined);

  // Tools try to reveal it.
  for (const isStreaming of [false, true]) await call("probe__leak", {}, isStreaming);
  for (const how of ["throw", "code"]) await expect(call("probe__leak", { how })).rejects.toThrow();
  const { toolkits: listed } = await kits.list();
  expect(listed.find(({ alias }) => alias === "second")).toMatchObject({
    config: { greeting: "hello", nested: { note: "not secret" } },
    secrets: ["token", "keys", "nested.pin"],
  });
  await client.use(core).snapshot();
  const { session_id } = await client.use(core).fork();
  const fork = await connect(host, session_id);
  await fork.call("probe__leak");
  await client.use(core).merge({ session_id });
  await kits.uninstall({ toolkit_name: "second" });

  expect(await client.use(core).replay()).toMatchObject({ is_identical: true });
  for (const [where, answers] of [
    ["an answer", received()],
    ["an answer to the fork", fork.received()],
  ] as const)
    expectNoTrace(answers, where);
  await host.close(0);
  const files = filesIn(config.data_dir);
  expect(files.length).toBeGreaterThan(4);
  for (const path of files) expectNoTrace(readFileSync(path), path);
  expectNoTrace(logged.join(""), "the log");
  expect(logged.join("")).toContain("[secret]");
});

test("sealed secrets work after a restart, and a host with another key requires a new configuration", async () => {
  let host = await start();
  const first = await connect(host);
  await first.kits.configure({ toolkit_name: "probe", config: { ...secretConfig, greeting: "back" } });
  const { sessionId } = first.client;
  await host.close(0);

  host = await start();
  const second = await connect(host, sessionId);
  const answer = await second.call("probe__greet", { name: "again" });
  expect(answer.data.data).toEqual({ text: "back again", is_open: true });
  const leak = await second.call("probe__leak");
  expect(leak.data.data).toMatchObject({ token: "[secret]", keys: { service: "[secret]" }, pin: "[secret]" });
  await host.close(0);

  writeFileSync(join(config.data_dir, "secret.key"), Buffer.alloc(32, 1).toString("base64"));
  host = await start();
  const third = await connect(host, sessionId);
  const [toolkit] = (await third.kits.list({ filter_kind: "test" })).toolkits;
  expect(toolkit).toMatchObject({ state: "configured", error: expect.stringContaining("configure it again") });
  await expect(third.call("probe__greet", { name: "x" })).rejects.toMatchObject({ code: "unknown_tool" });
  expect(await third.kits.configure({ toolkit_name: "probe", config: secretConfig })).toMatchObject({ status: "ok" });
  await host.close(0);
});

test("a recording is replayed without the secrets of the session and starts no toolkit", async () => {
  const host = await start();
  const { client, kits, call } = await connect(host);
  await kits.configure({ toolkit_name: "probe", config: secretConfig });
  await call("probe__greet", { name: "x" });
  await kits.configure({ toolkit_name: "probe", config: { token: 1 } }).catch(() => {});
  await client.use(tools).list();
  await kits.uninstall({ toolkit_name: "probe" });
  await client.disconnect();
  await host.close(0);
  const started = probe.seen.started;
  const recordings = filesIn(config.recording.path).map((path) => readFileSync(path, "utf8"));

  const report = await replayConfigured(recordings.join(""), config, { plugins });

  expect(report).toMatchObject({ is_identical: true });
  expect(probe.seen.started).toBe(started);
});
