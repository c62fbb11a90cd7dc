import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { env } from "../caps/env/protocol.ts";
import { memory } from "../caps/memory/protocol.ts";
import { planning } from "../caps/planning/protocol.ts";

import { tools } from "../caps/tools/protocol.ts";
import { A2EClient } from "../client/client.ts";
import { toHostConfig } from "../config/parsing.ts";
import type { A2EHostConfig, A2EHostConfigInput } from "../config/schema.ts";
import type { A2EHost } from "../host/host.ts";
import type { Session } from "../host/session.ts";

import { core } from "../protocol/core.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { createDirectTransport } from "../transports/direct.ts";
import { startConfiguredHost } from "./configured-host.ts";
import { replayConfigured } from "./replay.ts";

const nextFolder = useTemporaryFolder();

function recordingConfig(input: A2EHostConfigInput = {}): A2EHostConfig {
  return toHostConfig({ recording: { enabled: true }, ...input }, { baseDir: nextFolder(), env: {} });
}

function connect(host: A2EHost, agentId = "agent", authToken = ""): Promise<A2EClient> {
  return A2EClient.connect({ transport: createDirectTransport(() => host.sessions.create()), agentId, authToken });
}

/** The recordings of a config, in the order in which their sessions began. */
function recordingsOf({ recording }: A2EHostConfig): string[] {
  const names = readdirSync(recording.path).sort();
  return names.map((name) => readFileSync(join(recording.path, name), "utf8"));
}

async function useEverything(client: A2EClient): Promise<void> {
  const environment = client.use(env);
  for (const [env_name, action] of [
    ["CartPole-v1", 1],
    ["FrozenLake-v1", 2],
  ] as const) {
    for (const seed of [7, null]) {
      const { obs } = await environment.reset({ env_name, seed });
      await environment.step({ episode_id: obs.episode_id, action });
      await environment.step({ episode_id: obs.episode_id, action: "sideways" }).catch(() => {});
    }
  }
  const notes = client.use(memory);
  const { memory_id } = await notes.init({ namespace: "notes" });
  const tiers = ["working", "episodic", "semantic"] as const;
  const entries = tiers.map((tier) => ({ key: tier, content: { text: `the ${tier} tier` }, tier, tags: ["tier"] }));
  await notes.store({ memory_id, entries });
  await notes.retrieve({ memory_id, query: "tier" });
  await notes.forget({ memory_id, keys: ["episodic"] });
  const plans = client.use(planning);
  const { plan_id } = await plans.createPlan({ name: "release" });
  const { task_id } = await plans.addTask({ plan_id, title: "write it" });
  await plans.claim({ task_id, lease_seconds: 60 }).catch(() => {});
  await plans.board({ plan_id });
  await plans.listPlans({});
  const { call } = client.use(tools);
  await call({ tool_name: "write_file", arguments: { path: "a.txt", content: "one" } });
  await Promise.all(
    ["1 + 1", "Math.random()", "Date.now()"].map((code) => call({ tool_name: "js_eval", arguments: { code } })),
  );
  await call({ tool_name: "no_such_tool", arguments: {} }).catch(() => {});
  const session = client.use(core);
  const { snapshot_id } = await session.snapshot({ label: "here" });
  await session.restore({ snapshot_id });
  await session.fork({});
  await session.ping({});
}

test("a session with environments, memory, plans and tools is replayed byte for byte", async () => {
  const config = recordingConfig();
  const host = await startConfiguredHost(config);
  const client = await connect(host);
  await useEverything(client);
  await client.disconnect();
  await host.close(0);

  const [recording = ""] = recordingsOf(config);
  const report = await replayConfigured(recording, config);
  expect(report).toEqual({ messages: expect.any(Number), is_identical: true });
  expect(report.messages).toBeGreaterThan(20);
  expect(statSync(config.recording.path).mode & 0o077).toBe(0);
});

test("a session that reads other sessions' data and receives their messages is replayed without them", async () => {
  const config = recordingConfig();
  const host = await startConfiguredHost(config);
  const first = await connect(host);
  await useEverything(first);
  const second = await connect(host);
  const plans = second.use(planning);
  const [plan] = (await plans.listPlans({})).plans;
  const plan_id = plan?.plan_id ?? "";
  await plans.watchPlan({ plan_id });
  await first.use(planning).addTask({ plan_id, title: "seen by the other" });
  expect((await plans.listTasks({ plan_id })).total).toBe(2);
  const { entries } = await second.use(memory).retrieve({ query: "semantic", tier: "semantic" });
  const { memory_id } = await second.use(memory).init({ namespace: "notes" });
  expect([...entries, ...(await second.use(memory).retrieve({ memory_id, query: "semantic" })).entries]).toHaveLength(
    1,
  );
  await host.close(0);

  const [, , later = ""] = recordingsOf(config);
  expect(later).toContain('["aside"');
  const report = await replayConfigured(later, config);
  expect(report).toEqual({ messages: 7, is_identical: true });
});

test("a session that went on after its host was gone is replayed from there", async () => {
  const config = recordingConfig();
  const steps = [
    { action_type: "inc", payload: { amount: 2 } },
    { action_type: "inc", payload: { amount: 3 } },
  ];
  const { sessionId, episode_id } = await (async () => {
    const host = await startConfiguredHost(config);
    const client = await connect(host);
    const { obs } = await client.use(env).reset({ env_name: "counter_env" });
    await client.use(env).step({ episode_id: obs.episode_id, action: steps[0] as never });
    const sessionId = host.sessions.list()[0]?.id ?? "";
    await host.close(0);
    return { sessionId, episode_id: obs.episode_id };
  })();
  const host = await startConfiguredHost(config);
  const session = await host.sessions.find(sessionId);
  const lines: string[] = [];
  session?.bindTransport({ deliver: (message) => void lines.push(JSON.stringify(message)), closed() {} });
  session?.receiveLine(JSON.stringify({ type: "env/step/req", id: "later", episode_id, action: steps[1] }));
  await expect.poll(() => lines.length).toBe(1);
  await host.close(0);

  const [before = "", after = ""] = recordingsOf(config);
  expect(await replayConfigured(before, config)).toEqual({ messages: 3, is_identical: true });
  expect(await replayConfigured(after, config)).toEqual({ messages: 1, is_identical: true });
});

/** An environment in a thread whose results are not repeatable. */
const unrepeatable = `import { box, choice, defineEnv } from "${new URL("../caps/env/index.ts", import.meta.url).href}";
  export const fate = defineEnv({
    name: "fate",
    actionSpace: choice(["draw", "crash"]),
    observationSpace: box(0, 1),
    reset: () => 0,
    step(_state, action, { push }) {
      if (action === "crash") process.exit(3);
      push({ event_type: "drawing" });
      return { state: Math.random() };
    },
  });`;

test("files, threads and merged forks are replayed without them", async () => {
  const folder = nextFolder();
  const workspace_dir = join(folder, "workspace");
  mkdirSync(workspace_dir, { recursive: true });
  writeFileSync(join(folder, "fate.mjs"), unrepeatable);
  writeFileSync(join(workspace_dir, "orders.csv"), "id,total");
  const isolated = { type: "env", metadata: { modules: ["./fate.mjs"], isolation: "worker", workers: 1 } };
  const plugins = [isolated, { type: "memory" }, { type: "planning" }];
  const input = { recording: { enabled: true }, data_dir: join(folder, "data"), workspace_dir, plugins };
  const config = toHostConfig(input, { baseDir: folder, env: {} });
  const host = await startConfiguredHost(config);
  const joinAs = (id?: string) =>
    A2EClient.connect({
      transport: createDirectTransport(() => (id === undefined ? host.sessions.create() : joined(host, id))),
      agentId: "agent",
      capabilities: ["env", "env_push", "memory", "planning"],
    });
  const client = await joinAs();
  const environment = client.use(env);
  await environment.addData({ parts: [{ src: "orders.csv" }, { src: "none.csv" }] });
  const { obs } = await environment.reset({ env_name: "fate" });
  for (const action of ["draw", "crash", "draw"]) await environment.step({ action }).catch(() => {});
  const { session_id } = await client.use(core).fork({});
  const fork = await joinAs(session_id);
  await fork.use(env).step({ episode_id: obs.episode_id, action: "draw" });
  await fork.use(env).addData({ parts: [{ src: "orders.csv", dest: "again.csv" }] });
  await fork.use(memory).store({ entries: [{ key: "a", content: "by the fork", tier: "semantic" }] });
  await fork.use(planning).createPlan({ name: "of the fork" });
  expect((await client.use(core).merge({ session_id })).capabilities.env).toEqual({ merged: 2, conflicts: [] });
  await environment.observe({});
  expect((await environment.getData({ include_content: true })).items).toHaveLength(2);
  expect((await client.use(memory).retrieve({ query: "fork" })).total).toBe(1);
  await client.disconnect();
  await host.close(0);
  writeFileSync(join(workspace_dir, "orders.csv"), "something else by now");

  for (const recording of recordingsOf(config))
    expect(await replayConfigured(recording, config)).toEqual({ messages: expect.any(Number), is_identical: true });
});

function joined(host: A2EHost, id: string): Session {
  const session = host.sessions.get(id);
  if (session === undefined) throw new Error("there is no such session");
  return session;
}

test("an agent can request the replay of its own session, which changes nothing", async () => {
  const config = recordingConfig();
  await using host = await startConfiguredHost(config);
  await using client = await connect(host);
  await useEverything(client);
  const { plans } = await client.use(planning).listPlans({});
  const report = await client.use(core).replay({});
  expect(report).toMatchObject({ is_identical: true, cut: "the session went on" });
  expect(await client.use(planning).listPlans({})).toMatchObject({ plans });
  expect(host.sessions.size).toBe(2);
});

test("plugins that the config lacks are named", async () => {
  const config = recordingConfig();
  const host = await startConfiguredHost(config);
  await (await connect(host)).disconnect();
  await host.close(0);
  const [recording = ""] = recordingsOf(config);
  const other = recordingConfig({ plugins: [{ type: "tools" }] });
  await expect(replayConfigured(recording, other)).rejects.toThrow(
    "had plugins that this one lacks: memory, env, planning",
  );
});

test("a folder that cannot be written to costs the recording and no call", async () => {
  const config = recordingConfig();
  const path = nextFolder();
  writeFileSync(path, "in the way");
  await using host = await startConfiguredHost({ ...config, recording: { ...config.recording, path } });
  await using client = await connect(host);
  expect(await client.use(core).ping({})).toBeDefined();
  await expect(client.use(core).replay({})).rejects.toThrow("cannot be replayed");
  expect(await client.use(core).ping({})).toBeDefined();
});
