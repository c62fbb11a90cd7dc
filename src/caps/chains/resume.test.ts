// A killed host leaves its database file; a copy of it, taken during a run, is equivalent.

import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AskHandler } from "../../client/ask-handlers.ts";
import { A2EClient, type ClientOptions } from "../../client/client.ts";
import { createSqlJournal } from "../../durability/journal/sql-journal-store.ts";
import { keepSessions } from "../../durability/keep-sessions.ts";
import { A2EHost } from "../../host/host.ts";
import { A2EError } from "../../protocol/errors.ts";
import { createMemorySnapshotStore } from "../../stores/snapshots/memory-snapshot-store.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { createDirectTransport } from "../../transports/direct.ts";
import { toolsPlugin } from "../tools/plugin.ts";
import { chainsPlugin } from "./plugin.ts";
import { type ChainNode, chains } from "./protocol.ts";
import { createRecordedTools, tool } from "./start-chains.suite.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "a2e-chains-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function openHost(name: string) {
  const { tools, recorder } = createRecordedTools();
  const database = await createSqliteDatabase({ path: join(folder, name), durability: "process" });
  const host = await A2EHost.start({
    plugins: [toolsPlugin({ builtin: false, tools }), chainsPlugin({ max_inline_bytes: 64 })],
    keeping: keepSessions,
    snapshots: createMemorySnapshotStore(),
    database,
    journal: createSqlJournal(database),
  });
  return { host, recorder };
}

/** A client of a session, whose chains run under the id of an earlier run if one is named. */
async function connect(host: A2EHost, sessionId?: string, id?: string) {
  const transport = createDirectTransport(async () => {
    const session = sessionId === undefined ? host.sessions.create() : await host.sessions.find(sessionId);
    if (session === undefined) throw new Error("no such session");
    return session;
  });
  const client = await A2EClient.connect({ transport, agentId: "agent", capabilities: ["tools", "chains"] });
  const api = client.use(chains);
  const run: typeof api.run = (request, options) => api.run(request, id === undefined ? options : { ...options, id });
  return { client, api: { ...api, run } };
}

/** Copies the database as a host of this name would leave it if it were killed now. */
async function kill(name: string, leftName: string): Promise<void> {
  // Waits until the turn in which nodes ended is committed.
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  for (const suffix of ["", "-wal", "-turns"])
    await copyFile(join(folder, name + suffix), join(folder, leftName + suffix));
}

/** Modifies the database that a host has left. */
async function tamper(name: string, sql: string): Promise<void> {
  const open = () => createSqliteDatabase({ path: join(folder, name), durability: "process" });
  // After a clean close, a journal has everything in tables.
  const left = await open();
  createSqlJournal(left);
  await left.close();
  const database = await open();
  database.write(() => database.prepare(sql).run());
  await database.close();
}

/** A run of these nodes that is interrupted while its node `wait` waits; its records are in `second.sqlite`. */
async function cutOff(nodes: ChainNode[]) {
  const first = await openHost("first.sqlite");
  const { client, api } = await connect(first.host);
  void api.run({ nodes }).catch(() => {});
  await expect.poll(() => first.recorder.waiting).toBe(1);
  const [run] = (await api.list()).runs;
  await kill("first.sqlite", "second.sqlite");
  first.recorder.release("");
  await first.host.close(0);
  return { sessionId: client.sessionId, runId: run?.run_id ?? "" };
}

test("a run continues in another process, and its answer is kept until its agent repeats the request", async () => {
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
  await kill("first.sqlite", "second.sqlite");
  const runId = run?.run_id ?? "";

  const second = await openHost("second.sqlite");
  await second.host.sessions.find(client.sessionId);
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

test("a run that has ended leaves no records in the state of its session", async () => {
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

test("failed items do not run again, and are reported with the others", async () => {
  const { sessionId, runId } = await cutOff([
    { node_id: "rows", kind: "map", items: [[1, "x"], [2]], map_node: "row" },
    { node_id: "row", kind: "map", items_path: "item", map_node: "cell", on_error: "skip" },
    tool("cell", "add", { input_map: { items: "[item]" } }),
    { node_id: "m", kind: "map", items: ["broken", "x"], map_node: "one", on_error: "skip", deps: ["rows"] },
    tool("one", "wait", { input_map: { name: "item" } }),
  ]);
  const second = await openHost("second.sqlite");
  const { api } = await connect(second.host, sessionId, runId);

  const running = api.run({ nodes: [] });
  await expect.poll(() => second.recorder.waiting).toBe(1);
  second.recorder.release("x");
  const result = await running;

  expect(result.failed).toEqual(["rows[0][1]", "m[0]"]);
  expect(result.outputs).toEqual({ rows: [[1, null], [2]], m: [null, { name: "x" }] });
  expect(second.recorder.calls.map(({ id }) => id)).toEqual([`${runId}:m:1`]);
  await second.host.close(0);
});

test("large outputs of items in nested maps are each restored", async () => {
  const [one, other] = ["a".repeat(100), "b".repeat(100)];
  const first = await openHost("first.sqlite");
  const { client, api } = await connect(first.host);
  const nodes: ChainNode[] = [
    {
      node_id: "rows",
      kind: "map",
      items: [
        [one, "x"],
        [other, "x"],
      ],
      map_node: "row",
    },
    { node_id: "row", kind: "map", items_path: "item", map_node: "cell" },
    tool("cell", "wait", { input_map: { name: "item" } }),
  ];
  void api.run({ nodes }).catch(() => {});
  await expect.poll(() => first.recorder.waiting).toBe(4);
  for (const name of [one, other]) first.recorder.release(name);
  const [run] = (await api.list()).runs;
  await kill("first.sqlite", "second.sqlite");
  await first.host.close(0);
  const second = await openHost("second.sqlite");
  const resumed = await connect(second.host, client.sessionId, run?.run_id ?? "");

  const running = resumed.api.run({ nodes: [] });
  await expect.poll(() => second.recorder.waiting).toBe(2);
  second.recorder.release("x");
  const { outputs } = await running;
  const { text } = await resumed.api.output({ run_id: run?.run_id ?? "", node_id: "rows" });

  expect(outputs.rows).toMatchObject({ node_id: "rows" });
  expect(JSON.parse(text)).toEqual([
    [{ name: one }, { name: "x" }],
    [{ name: other }, { name: "x" }],
  ]);
  await second.host.close(0);
});

describe("an approval that was pending", () => {
  /** A run that was interrupted while its node `ok` waited for an approval. */
  async function cutOffAsking() {
    const first = await openHost("first.sqlite");
    const { client, api } = await connect(first.host);
    const asked: string[] = [];
    client.onAsk(chains.asks.approve, ({ node_id }) => {
      asked.push(node_id);
      return new Promise(() => {});
    });
    const nodes = [
      tool("a", "later", { input: { v: 1 } }),
      { node_id: "ok", kind: "approval", message: "Go on?", input_map: { v: "a.v" } },
      tool("end", "echo", { deps: ["ok"], input_map: { v: "ok.data.v" } }),
    ];
    void api.run({ nodes }).catch(() => {});
    await expect.poll(() => asked).toEqual(["ok"]);
    const [run] = (await api.list()).runs;
    await kill("first.sqlite", "second.sqlite");
    await first.host.close(0);
    const second = await openHost("second.sqlite");
    const transport = createDirectTransport(() => second.host.sessions.find(client.sessionId) as never);
    const options = { transport, agentId: "agent", capabilities: ["tools", "chains"] };
    return { second, options, runId: run?.run_id ?? "" };
  }

  const answer: AskHandler<typeof chains.asks.approve> = ({ message, data }) => ({
    approved: message === "Go on?" && data.v === 1,
  });
  // The question waits for the next connection.
  const agents: Record<string, (options: ClientOptions) => Promise<A2EClient>> = {
    "says what answers before it connects": async (options) => {
      const client = new A2EClient(options);
      client.onAsk(chains.asks.approve, answer);
      await client.connect();
      return client;
    },
    "says what answers in its options": (options) =>
      A2EClient.connect({ ...options, asks: (onAsk) => onAsk(chains.asks.approve, answer) }),
    "says what answers as soon as it has connected": async (options) => {
      const client = await A2EClient.connect(options);
      client.onAsk(chains.asks.approve, answer);
      return client;
    },
  };

  for (const [title, comeBack] of Object.entries(agents)) {
    test(`is asked again of an agent that ${title}, and what was before it does not run again`, async () => {
      const { second, options, runId } = await cutOffAsking();
      const client = await comeBack(options);
      const { final_output } = await client.use(chains).run({ nodes: [] }, { id: runId });

      expect(final_output).toEqual({ v: 1 });
      expect(second.recorder.calls.map(({ id }) => id)).toEqual([`${runId}:end`]);
      await second.host.close(0);
    });
  }
});

test("a node whose large output is no longer stored runs again", async () => {
  const { sessionId, runId } = await cutOff([
    tool("big", "blow", { input: { length: 50 } }),
    tool("hold", "wait", { deps: ["big"] }),
    tool("end", "echo", { deps: ["hold"], input_map: { size: "length(big.text)" } }),
  ]);
  await tamper("second.sqlite", "DELETE FROM chain_output");
  const second = await openHost("second.sqlite");
  const { api } = await connect(second.host, sessionId, runId);

  const running = api.run({ nodes: [] });
  await expect.poll(() => second.recorder.waiting).toBe(1);
  second.recorder.release("");

  expect((await running).final_output).toEqual({ size: 100 });
  await second.host.close(0);
});

test("a run that cannot be resumed is dropped, and its session opens", async () => {
  const { sessionId } = await cutOff([tool("a", "later"), tool("hold", "wait", { deps: ["a"] })]);
  await tamper("second.sqlite", "UPDATE session_state SET value = '5' WHERE key LIKE 'local:run:%'");
  const second = await openHost("second.sqlite");
  const { api } = await connect(second.host, sessionId);
  await new Promise((resolve) => setTimeout(resolve, 20));

  expect((await api.list()).runs).toEqual([]);
  expect((await api.run({ nodes: [tool("a", "echo")] })).success).toBe(true);
  await second.host.close(0);
});

test("a repeated request receives the events that it missed", async () => {
  const { sessionId, runId } = await cutOff([
    tool("hold", "wait"),
    tool("next", "echo", { deps: ["hold"] }),
    tool("last", "wait", { deps: ["next"] }),
  ]);
  const second = await openHost("second.sqlite");
  await second.host.sessions.find(sessionId);
  await expect.poll(() => second.recorder.waiting).toBe(1);
  second.recorder.release("");
  await expect.poll(() => second.recorder.calls.length).toBe(3);

  const { api } = await connect(second.host, sessionId, runId);
  const events: unknown[] = [];
  const running = api.run({ nodes: [] }, { onEvent: ({ data }) => events.push(`${data.node_id} ${data.phase}`) });
  await expect.poll(() => events.length).toBe(5);
  second.recorder.release("");
  await running;

  expect(events).toEqual(["hold start", "hold done", "next start", "next done", "last start", "last done"]);
  await second.host.close(0);
});

describe("a host that stops", () => {
  const nodes = [
    tool("a", "later", { input: { v: 1 } }),
    tool("hold", "wait", { deps: ["a"] }),
    tool("end", "echo", { deps: ["hold"], input_map: { v: "a.v" } }),
  ];

  async function startRun() {
    const first = await openHost("host.sqlite");
    const { client, api } = await connect(first.host);
    const told: number[] = [];
    const running = api.run({ nodes }, { onEvent: ({ seq }) => told.push(seq) }).catch((error) => error.code);
    await expect.poll(() => first.recorder.waiting).toBe(1);
    const [run] = (await api.list()).runs;
    return { ...first, running, told, sessionId: client.sessionId, runId: run?.run_id ?? "" };
  }

  test("leaves a chain to the next host, where its request is answered and no node that had ended runs again", async () => {
    const first = await startRun();
    await first.host.close(30);
    const lost = await first.running;

    const second = await openHost("host.sqlite");
    const { api } = await connect(second.host, first.sessionId, first.runId);
    const seqs: number[] = [];
    const running = api.run({ nodes }, { onEvent: ({ seq }) => seqs.push(seq) });
    await expect.poll(() => second.recorder.waiting).toBe(1);
    second.recorder.release("");
    const result = await running;

    expect(lost).toBe("connection_lost");
    expect(result).toMatchObject({ success: true, run_id: first.runId, nodes_run: 3, final_output: { v: 1 } });
    expect(second.recorder.calls.map(({ tool }) => tool)).toEqual(["wait", "echo"]);
    // Their numbers continue, because no client has seen these lines.
    expect([first.told, seqs]).toEqual([
      [1, 2, 3],
      [4, 5, 6, 7],
    ]);
    await second.host.close(0);
  });

  test("lets running nodes end first, and starts no other", async () => {
    const first = await startRun();
    const closing = first.host.close(5000);
    first.recorder.release("");
    await closing;

    const second = await openHost("host.sqlite");
    const { api } = await connect(second.host, first.sessionId, first.runId);
    const result = await api.run({ nodes });

    expect(result).toMatchObject({ success: true, nodes_run: 3 });
    expect(first.recorder.calls.map(({ tool }) => tool)).toEqual(["later", "wait"]);
    expect(second.recorder.calls.map(({ tool }) => tool)).toEqual(["echo"]);
    await second.host.close(0);
  });

  test("leaves a chain that it has resumed itself, and a chain with a map, repeatedly", async () => {
    const items = ["x", "y"];
    const mapped = [
      { node_id: "m", kind: "map", items, map_node: "one", on_error: "skip" },
      tool("one", "wait", { input_map: { name: "item" } }),
    ];
    const first = await openHost("host.sqlite");
    const { client, api } = await connect(first.host);
    void api.run({ nodes: mapped }).catch(() => {});
    await expect.poll(() => first.recorder.waiting).toBe(2);
    const [run] = (await api.list()).runs;
    await first.host.close(0);

    const second = await openHost("host.sqlite");
    await second.host.sessions.find(client.sessionId);
    await expect.poll(() => second.recorder.waiting).toBe(2);
    second.recorder.release("y");
    await new Promise((resolve) => setTimeout(resolve, 20));
    await second.host.close(0);

    const third = await openHost("host.sqlite");
    const again = await connect(third.host, client.sessionId, run?.run_id ?? "");
    const running = again.api.run({ nodes: mapped });
    await expect.poll(() => third.recorder.waiting).toBe(1);
    third.recorder.release("x");

    expect(await running).toMatchObject({ success: true, final_output: [{ name: "x" }, { name: "y" }] });
    expect(third.recorder.calls.map(({ args }) => args)).toEqual([{ name: "x" }]);
    await third.host.close(0);
  });
});

test('a node of a resumed run that fails with "cancelled" has failed, and the run continues', async () => {
  const { sessionId, runId } = await cutOff([
    tool("hold", "wait", { on_error: "skip" }),
    tool("end", "echo", { deps: ["hold"], input_map: { why: "errors.hold.code" } }),
  ]);
  const second = await openHost("second.sqlite");
  const { api } = await connect(second.host, sessionId, runId);
  const running = api.run({ nodes: [] });
  await expect.poll(() => second.recorder.waiting).toBe(1);
  second.recorder.fail("", new A2EError("cancelled", "by its own"));

  expect((await running).final_output).toEqual({ why: "cancelled" });
  await second.host.close(0);
});
