// What is left of a host that was killed is a database file; a copy of it, taken in mid run, is the same.
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { A2EClient } from "../../client/client.ts";
import { A2EHost } from "../../host/host.ts";
import { createIdSource } from "../../protocol/envelope.ts";
import { createMemorySnapshotStore } from "../../stores/memory-snapshot-store.ts";
import { createSqliteDatabase } from "../../stores/sqlite-database.ts";
import { createDirectTransport } from "../../transports/direct.ts";
import { toolsPlugin } from "../tools/plugin.ts";
import { chainsPlugin } from "./plugin.ts";
import { chains } from "./protocol.ts";
import { createRecordedTools, tool } from "./start-chains.suite.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "a2e-chains-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function openHost(name: string) {
  const { tools, recorder } = createRecordedTools();
  const host = await A2EHost.start({
    plugins: [toolsPlugin({ builtin: false, tools }), chainsPlugin({ max_inline_bytes: 64 })],
    snapshots: createMemorySnapshotStore(),
    database: await createSqliteDatabase({ path: join(folder, name), durability: "process" }),
    isDurable: true,
  });
  return { host, recorder };
}

async function connect(host: A2EHost, sessionId?: string, firstId?: string) {
  const nextId = createIdSource();
  let ids = firstId === undefined ? [] : [nextId(), firstId];
  const transport = createDirectTransport(() => {
    const session = sessionId === undefined ? host.sessions.create() : host.sessions.get(sessionId);
    if (session === undefined) throw new Error("no such session");
    return session;
  });
  const client = await A2EClient.connect({
    transport,
    agentId: "agent",
    capabilities: ["tools", "chains"],
    nextId: () => {
      const [id = nextId(), ...rest] = ids;
      ids = rest;
      return id;
    },
  });
  return { client, api: client.use(chains) };
}

test("a run goes on by itself in another process, and its answer waits until its agent asks again", async () => {
  const first = await openHost("first.sqlite");
  const { client, api } = await connect(first.host);
  const nodes = [
    tool("a", "later", { input: { v: 1 } }),
    tool("big", "blow", { input: { length: 50 }, deps: ["a"] }),
    tool("bad", "fail", { on_error: "skip" }),
    tool("hold", "wait", { input: { name: "x" }, deps: ["a", "big", "bad"] }),
    tool("end", "echo", { deps: ["hold"], input_map: { v: "a.v", size: "length(big.text)", why: "errors.bad.code" } }),
  ];
  void api.run({ chain_id: "mine", nodes, streaming: false }).catch(() => {});
  await expect.poll(() => first.recorder.waiting).toBe(1);
  const [run] = (await api.list()).runs;
  // Lets the turn in which the nodes ended be committed.
  await new Promise((resolve) => setTimeout(resolve, 20));
  for (const suffix of ["", "-wal"])
    await copyFile(join(folder, `first.sqlite${suffix}`), join(folder, `second.sqlite${suffix}`));
  const runId = run?.run_id ?? "";

  const second = await openHost("second.sqlite");
  second.host.sessions.get(client.sessionId);
  await expect.poll(() => second.recorder.waiting).toBe(1);
  const looking = await connect(second.host, client.sessionId);
  const resumed = (await looking.api.list()).runs;
  second.recorder.release("x");
  await expect.poll(async () => (await looking.api.list()).runs[0]?.status).toBe("answered");
  const repeating = await connect(second.host, client.sessionId, runId);
  const answer = await repeating.api.run({ nodes });

  expect(resumed).toMatchObject([{ run_id: runId, chain_id: "mine", status: "running", nodes_run: 3, resumed: true }]);
  expect(second.recorder.calls.map(({ tool, id }) => [tool, id])).toEqual([
    ["wait", `${runId}:hold`],
    ["echo", `${runId}:end`],
  ]);
  expect(answer).toMatchObject({ run_id: runId, success: false, error: null, failed: ["bad"], nodes_run: 5 });
  expect(answer.final_output).toEqual({ v: 1, size: 100, why: "runtime_error" });
  expect((await repeating.api.list()).runs).toEqual([]);

  first.recorder.release("x");
  for (const { host } of [first, second]) await host.close(0);
});

test("a run that has ended leaves nothing in the state of its session", async () => {
  const { host, recorder } = await openHost("ended.sqlite");
  const { client, api } = await connect(host);
  const running = api.run({ nodes: [tool("a", "later"), tool("w", "wait", { deps: ["a"] })] });
  await expect.poll(() => recorder.waiting).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  recorder.release("");
  await running;
  await host.close(0);

  const again = await openHost("ended.sqlite");
  const later = await connect(again.host, client.sessionId);
  await new Promise((resolve) => setTimeout(resolve, 30));

  expect((await later.api.list()).runs).toEqual([]);
  expect(again.recorder.calls).toEqual([]);
  await again.host.close(0);
});
