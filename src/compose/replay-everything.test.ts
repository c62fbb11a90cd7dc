// A session that uses every capability is replayed in an environment that has nothing it used: another time, an empty
// workspace, no skills, no programs, no servers.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { afterEach, expect, test, vi } from "vitest";
import { chains } from "../caps/chains/protocol.ts";
import { env } from "../caps/env/protocol.ts";
import { mcp } from "../caps/mcp/protocol.ts";
import { memory } from "../caps/memory/protocol.ts";
import { planning } from "../caps/planning/protocol.ts";
import { proc } from "../caps/proc/protocol.ts";
import { skill } from "../caps/skill/protocol.ts";
import { toolkits } from "../caps/toolkits/protocol.ts";
import { tools } from "../caps/tools/protocol.ts";
import { A2EClient } from "../client/client.ts";
import { toHostConfig } from "../config/parsing.ts";
import type { A2EHostConfig } from "../config/schema.ts";
import { referenceMcpCommand } from "../conformance/reference-mcp.ts";
import type { A2EHost } from "../host/host.ts";
import { core } from "../protocol/core.ts";
import type { JsonObject } from "../protocol/json.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { createDirectTransport } from "../transports/direct.ts";
import { startConfiguredHost } from "./configured-host.ts";
import { replayConfigured } from "./replay.ts";

const newFolder = useTemporaryFolder();
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** A refusal is an answer like any other. */
const refused = (call: Promise<unknown>) => expect(call).rejects.toMatchObject({ code: expect.any(String) });

interface World {
  client: A2EClient;
  /** Of a server that never answers twice the same. */
  url: string;
  join(sessionId: string): Promise<A2EClient>;
}

function callerOf(client: A2EClient, timeout = 30) {
  return async (tool_name: string, args: JsonObject = {}) =>
    (await client.use(tools).call({ tool_name, arguments: args, timeout })).data;
}

async function untilListed(client: A2EClient, wanted: string): Promise<void> {
  const isListed = async () => (await client.use(tools).list({})).tools.some(({ name }) => name === wanted);
  await expect.poll(isListed).toBe(true);
}

const uses: Record<string, (world: World) => Promise<void>> = {
  async tools({ client, url }) {
    const call = callerOf(client);
    await call("write_file", { path: "notes/a.txt", content: "one\ntwo\n" });
    await call("read_file", { path: "notes/a.txt" });
    await refused(call("read_file", { path: "../outside" }));
    await call("list_dir", { path: "." });
    await call("glob", { pattern: "**/*.txt" });
    await call("grep", { pattern: "tw." });
    await call("http_get", { url });
    await refused(call("http_get", { url: "http://127.0.0.1:1/" }));
    await Promise.all(["1 + 1", "Math.random()", "Date.now()"].map((code) => call("js_eval", { code })));
    await refused(callerOf(client, 0.2)("js_eval", { code: "for(;;);" }));
    await refused(call("reed_file"));
    await client.use(tools).list({ query: "file" });
    await client.use(tools).list({});
  },
  async memory({ client }) {
    const { init, store, retrieve, forget } = client.use(memory);
    const { memory_id } = await init({ namespace: "notes" });
    const tiers = ["working", "episodic", "semantic"] as const;
    const entries = tiers.flatMap((tier) => [
      { key: `${tier}-kept`, content: `the ${tier} tier stays`, tier, tags: ["kept"] },
      { key: `${tier}-gone`, content: `the ${tier} tier goes`, tier, ttl: 1 },
    ]);
    await store({ memory_id, entries });
    await expect.poll(async () => (await retrieve({ memory_id, query: "tier" })).total, { interval: 200 }).toBe(3);
    await retrieve({ memory_id, tags: ["kept"] });
    await forget({ memory_id, keys: ["episodic-kept"] });
    await retrieve({ memory_id, keys: ["episodic-kept", "semantic-kept"] });
    await refused(retrieve({ memory_id: "none" }));
  },
  async env({ client }) {
    const environment = client.use(env);
    for (const [env_name, action] of [
      ["CartPole-v1", 1],
      ["FrozenLake-v1", 2],
    ] as const) {
      const { obs } = await environment.reset({ env_name });
      const { episode_id } = obs;
      await environment.step({ episode_id, action });
      await refused(environment.step({ episode_id, action: "sideways" }));
      await environment.batchStep({ episode_id, actions: [action] });
      await environment.whatIf({ episode_id, actions: [action, 0] });
      await environment.whatIf({ episode_id, actions: [action, 0], seed: 7 });
      await environment.plan({ episode_id });
      await environment.fork({ episode_id });
      await environment.render({ episode_id });
      await environment.observe({ episode_id });
      await environment.close({ episode_id });
    }
    await environment.listExperiences({});
    await environment.addData({ parts: [{ src: "data.sqlite" }, { src: "none.csv" }] });
    await environment.getData({ include_content: true });
    await environment.space({});
  },
  async planning({ client }) {
    const plans = client.use(planning);
    const { plan_id } = await plans.createPlan({ name: "release" });
    await plans.watchPlan({ plan_id });
    const { task_id } = await plans.addTask({ plan_id, title: "write it" });
    await plans.claim({ task_id, lease_seconds: 0.05 });
    await pause(80);
    await plans.ready({ plan_id });
    const { token } = await plans.claim({ task_id, lease_seconds: 60 });
    await plans.updateTask({ task_id, status: "done", claim_token: token });
    await plans.history({ task_id });
    await plans.board({ plan_id });
    await plans.listPlans({});
  },
  async proc({ client }) {
    const { spawn, write, read, status, kill, resize } = client.use(proc);
    const sh = (script: string, pty = false) => spawn({ cmd: ["sh", "-c", script], pty });
    const { proc_id } = await sh("date +%N; cat; echo err >&2; exit 3");
    await write({ proc_id, data: "hello\n", eof: true });
    await read({ proc_id, wait_ms: 2_000 });
    const ended = async () => (await status({ proc_id })).exit_code;
    await expect.poll(ended).toBe(3);
    await read({ proc_id });
    const terminal = await sh("tty; read line; echo $line; stty size", true);
    await resize({ proc_id: terminal.proc_id, rows: 30, cols: 90 });
    await write({ proc_id: terminal.proc_id, data: "typed\n" });
    await read({ proc_id: terminal.proc_id, wait_ms: 1_000 });
    const slow = await sh("sleep 300");
    await kill({ proc_id: slow.proc_id, signal: "SIGKILL" });
    expect(await spawn({ cmd: ["no-such-program"] })).toMatchObject({ ok: false });
    await refused(read({ proc_id: "none" }));
    await status({});
  },
  async skill({ client }) {
    const skills = client.use(skill);
    const stop = client.onAsk(skill.asks.llm, async ({ messages }) => ({ content: `re: ${messages[0]?.content}` }));
    await skills.discover({});
    await skills.call({ name: "count", arguments: {} });
    await refused(skills.call({ name: "count", arguments: { fail: true } }));
    await skills.call({ name: "tell", arguments: { what: "more" } });
    await skills.call({ name: "ask" });
    await skills.read({ name: "tell" });
    await refused(skills.call({ name: "none" }));
    stop();
  },
  async toolkits({ client, url }) {
    const { configure, install, uninstall, list } = client.use(toolkits);
    const call = callerOf(client);
    await configure({ toolkit_name: "http", config: { base_url: url, bearer_token: "sk-not-to-be-seen" } });
    await call("http__request", { path: "users/7" });
    await refused(call("http__request", { path: 7 }));
    await configure({ toolkit_name: "sqlite", config: { path: "data.sqlite" } });
    await call("sqlite__schema");
    await call("sqlite__query", { sql: "SELECT random() AS drawn, name FROM things" });
    await refused(call("sqlite__query", { sql: "DROP TABLE things" }));
    await configure({ toolkit_name: "filesystem", config: { root: ".", writable: true } });
    const away = await install({ toolkit_name: "filesystem", alias: "away", config: { root: "none" } });
    expect(away).toMatchObject({ status: "partial" });
    await call("filesystem__list", { path: "." });
    await refused(call("filesystem__read", { path: "none.txt" }));
    await refused(configure({ toolkit_name: "http", config: { base_url: 7 } }));
    await uninstall({ toolkit_name: "filesystem" });
    await call("company__request", { path: "shared" });
    await refused(uninstall({ toolkit_name: "company" }));
    await list({});
    await client.use(tools).list({});
  },
  async mcp({ client }) {
    const bridge = client.use(mcp);
    const call = callerOf(client);
    await untilListed(client, "reference__echo");
    await client.use(tools).list({ filter_tags: ["mcp"] });
    await call("reference__echo", { text: "hello" });
    await call("reference__progress");
    await call("reference__fail");
    await bridge.listServers({});
    await bridge.listResources({});
    await bridge.listPrompts({});
    await refused(bridge.readResource({ uri: "nothing://here" }));
    await refused(call("reference__ecko"));
  },
  async chains({ client }) {
    const { run, validate, list } = client.use(chains);
    await untilListed(client, "reference__echo");
    const stop = client.onAsk(chains.asks.approve, async () => ({ approved: true, data: { version: 2 } }));
    const tool = (node_id: string, name: string, more: object = {}) => ({ node_id, kind: "tool", name, ...more });
    const unreachable = { input: { url: "http://127.0.0.1:1/" }, retries: 2, retry_delay: 0.05, on_error: "skip" };
    const nodes = [
      tool("draw", "js_eval", { input: { code: "[Math.random(), 2, 3]" }, next_node: "each" }),
      { node_id: "each", kind: "map", items: [1, 2, 3], map_node: "one", max_parallel: 2, next_node: "ok" },
      tool("one", "js_eval", { input: { code: "Math.random()" } }),
      { node_id: "ok", kind: "approval", message: "Publish?", next_node: "flaky" },
      tool("flaky", "http_get", unreachable),
      tool("remote", "reference__echo", { input: { text: "from a chain" }, deps: ["flaky"] }),
    ];
    expect(await validate({ nodes })).toMatchObject({ valid: true });
    for (const streaming of [true, false])
      expect(await run({ nodes, streaming })).toMatchObject({ failed: ["flaky"], error: null });
    await run({ nodes: [tool("none", "no_such_tool")] });
    const slow = tool("slow", "js_eval", { input: { code: "for(;;);" }, timeout: 0.05 });
    expect(await run({ nodes: [slow] })).toMatchObject({ success: false });
    await list({});
    stop();
  },
  async sessions({ client, join: joinSession }) {
    const session = client.use(core);
    await client.use(toolkits).configure({ toolkit_name: "filesystem", config: { root: "." } });
    const { snapshot_id } = await session.snapshot({ label: "here" });
    await client.use(memory).store({ entries: [{ key: "after", content: "the snapshot", tier: "working" }] });
    await session.restore({ snapshot_id });
    expect((await client.use(memory).retrieve({ keys: ["after"] })).total).toBe(0);
    await session.listSnapshots({});
    const { session_id } = await session.fork({});
    const fork = await joinSession(session_id);
    await fork.use(memory).store({ entries: [{ key: "by the fork", content: "kept", tier: "semantic" }] });
    await fork.use(planning).createPlan({ name: "of the fork" });
    for (const agent of [client, fork]) {
      await agent.use(tools).list({});
      await agent.use(toolkits).list({});
      await callerOf(agent)("filesystem__list", { path: "." });
    }
    await session.merge({ session_id });
    expect((await client.use(memory).retrieve({ query: "fork" })).total).toBe(1);
    await client.use(planning).listPlans({});
    expect(await session.replay({})).toMatchObject({ is_identical: true });
    await session.ping({});
  },
};

function writeWorld(folder: string): void {
  const files = {
    "skills/count/SKILL.md": "---\nname: count\ndescription: Counts.\nscript: main.js\n---\n",
    "skills/count/main.js":
      'export default async ({ fail }) => { if (fail) throw new Error("told to fail"); return Math.random(); };',
    "skills/tell/SKILL.md": "---\nname: tell\ndescription: Tells.\narguments: [what]\n---\nTell {what}.\n",
    "skills/ask/SKILL.md": "---\nname: ask\ndescription: Asks.\nscript: main.js\nllm: true\n---\n",
    "skills/ask/main.js": 'export default async () => (await llm("who?")).content + (await llm("when?")).content;',
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  mkdirSync(join(folder, "workspace"));
  const database = new DatabaseSync(join(folder, "workspace", "data.sqlite"));
  database.exec("CREATE TABLE things (name TEXT); INSERT INTO things VALUES ('one'), ('two')");
  database.close();
}

function configOf(folder: string, url: string, mcpCommand: string[]): A2EHostConfig {
  const plugins = [
    { type: "mcp", metadata: { servers: { reference: { cmd: mcpCommand } }, ping_interval_ms: 0 } },
    { type: "tools", metadata: { http: { allow_private: true }, js: { timeout_ms: 30_000 } } },
    { type: "memory" },
    { type: "env", metadata: { data: { sources: ["workspace"] }, record_experiences: true } },
    { type: "planning" },
    { type: "proc", metadata: { sandbox: "none", allowed_commands: ["*"] } },
    { type: "skill", metadata: { builtin: false, user: [], watch: false } },
    {
      type: "toolkits",
      metadata: {
        http: { allow_private: true },
        shared: { company: { toolkit: "http", config: { base_url: url, bearer_token: "sk-of-the-company" } } },
      },
    },
    { type: "chains" },
  ];
  const input = { recording: { enabled: true }, workspace_dir: "./workspace", plugins };
  return toHostConfig(input, { baseDir: folder, env: {} });
}

function connect(host: A2EHost, sessionId?: string): Promise<A2EClient> {
  const open = () => (sessionId === undefined ? host.sessions.create() : host.sessions.get(sessionId)) as never;
  return A2EClient.connect({ transport: createDirectTransport(open), agentId: "agent" });
}

async function recordWorld(use: (world: World) => Promise<unknown>): Promise<{ texts: string[]; url: string }> {
  const folder = newFolder();
  writeWorld(folder);
  let count = 0;
  const server = createServer((request, response) => {
    count += 1;
    response.end(JSON.stringify({ count, url: request.url, auth: request.headers.authorization ?? "" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const config = configOf(folder, url, [...referenceMcpCommand]);
  const host = await startConfiguredHost(config);
  try {
    const client = await connect(host);
    await use({ client, url, join: (id) => connect(host, id) });
    await client.disconnect();
  } finally {
    await host.close(0);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  const files = readdirSync(config.recording.path).sort();
  return { url, texts: files.map((file) => readFileSync(join(config.recording.path, file), "utf8")) };
}

/** Replays in an empty environment: another time, another workspace, no programs, no servers. */
async function expectSameElsewhere({ texts, url }: { texts: string[]; url: string }): Promise<void> {
  const elsewhere = newFolder();
  mkdirSync(join(elsewhere, "workspace"), { recursive: true });
  vi.stubEnv("PATH", "");
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2001, 1, 3) });
  const config = configOf(elsewhere, url, ["no-such-program"]);
  for (const text of texts) {
    expect(text).not.toContain("sk-not-to-be-seen");
    expect(text).not.toContain("sk-of-the-company");
    expect(await replayConfigured(text, config, { waitMs: 10_000 })).toEqual({
      messages: expect.any(Number),
      is_identical: true,
    });
  }
}

test("a session that used every capability, one after the other, is replayed elsewhere byte for byte", async () => {
  const recorded = await recordWorld(async (world) => {
    for (const use of Object.values(uses)) await use(world);
  });
  await expectSameElsewhere(recorded);
});

test("a session that used every capability at once is replayed elsewhere byte for byte", async () => {
  const { sessions: _, ...others } = uses;
  await expectSameElsewhere(await recordWorld((world) => Promise.all(Object.values(others).map((use) => use(world)))));
});
