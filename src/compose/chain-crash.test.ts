// Kills a host in the middle of chains. They resume: no node that had ended runs again.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { chains } from "../caps/chains/protocol.ts";
import { connect } from "./connect-node.ts";
import { type KilledHost, useKilledHost } from "./killed-host.suite.ts";

const startHost = useKilledHost("chain-crash-host.suite.ts");
let host: KilledHost;
beforeEach(async () => {
  host = await startHost();
});
afterEach(() => host.end());

async function connectAgent() {
  const client = await connect(`http://127.0.0.1:${host.port}`, {
    agentId: "survivor",
    reconnect: { initialBackoffMs: 10, maxBackoffMs: 50 },
    timeoutMs: 0,
  });
  return { client, api: client.use(chains) };
}

/** How often each piece of work began and ended, by the part of its key after the run's id. */
async function readWork(): Promise<Record<string, { begin: number; end: number }>> {
  const counts: Record<string, { begin: number; end: number }> = {};
  const text = await readFile(join(host.folder, "work.log"), "utf8").catch(() => "");
  for (const line of text.split("\n").filter((part) => part !== "")) {
    const [phase = "", key = ""] = line.split(" ");
    const name = key.slice(key.indexOf(":") + 1);
    counts[name] ??= { begin: 0, end: 0 };
    const count = counts[name];
    if (phase === "begin") count.begin += 1;
    else count.end += 1;
  }
  return counts;
}

/**
 * Keys of the work that has ended and is persisted: all but the newest ends of each life of the host, as many as run at
 * once. The turn in which those ended may not be committed when the host is killed, and then they run again.
 */
async function endedForGood(atOnce: number, undecided = new Set<string>()): Promise<string[]> {
  const text = await readFile(join(host.folder, "work.log"), "utf8");
  const lines = text.split("\n").filter((line) => line.startsWith("end "));
  const keys = lines.map((line) => line.slice(line.indexOf(":") + 1));
  for (const key of keys.slice(-atOnce)) undecided.add(key);
  return keys.filter((key) => !undecided.has(key));
}

const ended = async () => Object.values(await readWork()).filter(({ end }) => end > 0).length;

function node(index: number, ms: number, rest: object = {}) {
  const deps = index === 0 ? [] : [`n${index - 1}`];
  return { node_id: `n${index}`, kind: "tool", name: "work", input: { ms, v: index }, deps, ...rest };
}

test("a chain resumes after each of several kills, and its repeated request gets the answer", async () => {
  const { client, api } = await connectAgent();
  const nodes = Array.from({ length: 12 }, (_, index) => node(index, 60));
  const events: unknown[] = [];

  const running = api.run({ chain_id: "long", nodes, timeout: 240 }, { onEvent: ({ data }) => events.push(data) });
  const [keys, undecided] = [new Set<string>(), new Set<string>()];
  for (const count of [2, 5, 8]) {
    await expect.poll(ended, { interval: 5 }).toBeGreaterThanOrEqual(count);
    for (const key of await endedForGood(1, undecided)) keys.add(key);
    await host.restart();
  }
  const result = await running;

  const work = await readWork();
  expect(result).toMatchObject({ chain_id: "long", success: true, nodes_run: 12, final_output: { v: 11 } });
  expect(Object.keys(result.outputs)).toHaveLength(12);
  // Only nodes that were running when the host was killed begin again, under the same key.
  expect(Object.keys(work)).toEqual(nodes.map(({ node_id }) => node_id));
  expect(keys.size).toBeGreaterThanOrEqual(5);
  expect([...keys].filter((key) => work[key]?.end !== 1)).toEqual([]);
  expect((await api.list()).runs).toEqual([]);
  await client.disconnect();
});

test("items of a map that had ended are not run again, and large outputs are still there", async () => {
  const { client, api } = await connectAgent();
  const nodes = [
    node(0, 5, { input: { ms: 5, v: 7, length: 100_000 } }),
    {
      node_id: "all",
      kind: "map",
      items: Array.from({ length: 12 }, (_, v) => v),
      map_node: "one",
      max_parallel: 2,
      deps: ["n0"],
    },
    { node_id: "one", kind: "tool", name: "work", input: { ms: 50 }, input_map: { v: "item" } },
    { node_id: "size", kind: "gather", input_map: { length: "length(n0.text)", items: "all[*].v" } },
  ];

  const running = api.run({ nodes, streaming: false, timeout: 240 });
  await expect.poll(ended, { interval: 5 }).toBeGreaterThanOrEqual(6);
  const keys = await endedForGood(2);
  await host.restart();
  const result = await running;

  const work = await readWork();
  expect(result.final_output).toEqual({ length: 100_000, items: Array.from({ length: 12 }, (_, v) => v) });
  expect(result.outputs.n0).toMatchObject({ $ref: "chain/output", node_id: "n0" });
  expect(Object.keys(work)).toHaveLength(13);
  expect(keys.length).toBeGreaterThanOrEqual(4);
  expect(keys.filter((key) => work[key]?.end !== 1)).toEqual([]);
  await client.disconnect();
});
