// Limits that protect the host and other agents from one agent's chains.
import { expect, test, vi } from "vitest";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { createExpressionParser } from "./expressions/expression.ts";
import { chainLimits } from "./limits.ts";
import { compileChain } from "./plan/compile.ts";
import type { ChainNode } from "./protocol.ts";
import { openOutputStores } from "./run/output-store.ts";
import { startChains, tool } from "./start-chains.suite.ts";

/**
 * Nodes that each use the output of the node before twice: the last output is 2 ** count times as large as the first.
 */
function doubling(count: number, first: ChainNode): ChainNode[] {
  const doubled = Array.from({ length: count }, (_, index) => ({
    node_id: `d${index + 1}`,
    kind: "gather",
    input_map: { x: `d${index}`, y: `d${index}` },
  }));
  return [{ ...first, node_id: "d0" }, ...doubled];
}

test.each(["echo", "later"])("outputs that double with each node end the chain at a limit, after %s", async (name) => {
  await using host = await startChains();

  const result = await host.api.run({ nodes: doubling(60, tool("d0", name, { input: { v: 1 } })), streaming: false });

  expect(result.success).toBe(false);
  expect(result.error?.message).toMatch(/failed: .*bytes/);
});

test("an input that is too large fails its node", async () => {
  await using host = await startChains();
  const length = chainLimits.maxValueBytes / 4;
  const nodes = [tool("a", "echo", { input_map: { x: "[t, t, t, t, t]" } })];

  const result = await host.api.run({ nodes, initial_input: { t: "x".repeat(length) }, streaming: false });

  expect(result.error).toMatchObject({ code: "chain_node_error", detail: { code: "schema_violation" } });
  expect(host.recorder.calls).toEqual([]);
});

test("an expression that takes too many steps fails its node, and the host continues", async () => {
  await using host = await startChains();
  const bomb = `[input]${" | [@, @][]".repeat(60)}`;

  const result = await host.api.run({ nodes: [tool("a", "echo", { input_map: { x: bomb } })] });

  expect(result.error).toMatchObject({
    code: "chain_node_error",
    message: expect.stringContaining("it takes more than"),
    detail: { code: "bad_expression" },
  });
  expect((await host.api.run({ nodes: [tool("a", "echo")] })).success).toBe(true);
});

test("the outputs of all items of a map together are limited like one output", async () => {
  await using host = await startChains();
  const items = Array.from({ length: 20 }, (_, index) => index);
  const nodes: ChainNode[] = [
    { node_id: "m", kind: "map", items, map_node: "e", on_error: "skip" },
    tool("e", "echo", { input: { text: "x".repeat(900_000) } }),
  ];

  const result = await host.api.run({ nodes, streaming: false });

  // 18 outputs of 900,000 bytes are below the limit, 19 are above.
  expect(result.failed).toEqual(["m[18]", "m[19]"]);
});

test("the number of items of all maps of a run is limited, including nested maps", async () => {
  await using host = await startChains({ options: { max_run_items: 10 } });
  const nodes: ChainNode[] = [
    { node_id: "rows", kind: "map", items: [1, 2, 3], map_node: "row" },
    { node_id: "row", kind: "map", items: [1, 2, 3], map_node: "cell" },
    tool("cell", "echo"),
  ];

  const result = await host.api.run({ nodes });

  expect(result.error?.message).toContain("more than 10 items together (max_run_items)");
});

test.each<[what: string, nodes: ChainNode[]]>([
  ["nodes", Array.from({ length: 2000 }, (_, index) => tool(`n${index}`, "echo"))],
  ["items", [{ node_id: "m", kind: "map", items: Array.from({ length: 2000 }, () => 0), name: "echo" }]],
])("the host serves other requests while very many %s run that return at once", async (_, nodes) => {
  await using host = await startChains();
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);

  const result = await host.api.run({ nodes, streaming: false });
  isOver = true;

  expect(result).toMatchObject({ success: true });
  expect(host.recorder.calls).toHaveLength(2000);
  expect(turns).toBeGreaterThan(1);
});

test("a run that yields to the event loop can be cancelled", async () => {
  await using host = await startChains();
  const nodes = Array.from({ length: 2000 }, (_, index) => tool(`n${index}`, "echo"));

  const running = host.api.run({ chain_id: "long", nodes, streaming: false });
  const { runs } = await host.api.list();
  await host.api.cancel({ run_id: runs[0]?.run_id ?? "" });

  expect((await running).error?.code).toBe("cancelled");
  expect(host.recorder.calls.length).toBeLessThan(2000);
});

test("suggestions for misspelled names are limited by the time to find them", async () => {
  await using host = await startChains();
  const few = await host.api.validate({ nodes: [tool("first", "echo"), tool("b", "echo", { deps: ["frist"] })] });
  const long = "n".repeat(55);
  const nodes = Array.from({ length: 2000 }, (_, index) =>
    tool(`${long}${index}`, "echo", { deps: [`m${long}${index}`] }),
  );

  const { problems } = await host.api.validate({ nodes });

  expect(few.problems[0]?.message).toContain('did you mean "first"?');
  expect(problems).toHaveLength(chainLimits.maxProblems);
  expect(problems.filter(({ message }) => message.includes("did you mean"))).toEqual([]);
});

test("of very many invalid expressions only the reported ones are parsed", () => {
  const parse = vi.fn(createExpressionParser());
  const wrong = Object.fromEntries(
    Array.from({ length: 500 }, (_, index) => [`f${index}`, `${"!".repeat(99)} ${index}`]),
  );

  const { problems } = compileChain([tool("a", "echo", { input_map: wrong })], "", { parse, maxNodes: 10 });

  expect(problems).toHaveLength(chainLimits.maxProblems);
  expect(parse).toHaveBeenCalledTimes(chainLimits.maxProblems);
});

test("expressions of a node that many maps run count for each map", async () => {
  await using host = await startChains();
  const input_map = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`f${index}`, "item.value[0]"]));
  const maps = Array.from({ length: 200 }, (_, index) => ({
    node_id: `m${index}`,
    kind: "map",
    items: [1],
    map_node: "e",
  }));

  const { problems } = await host.api.validate({ nodes: [tool("e", "echo", { input_map }), ...maps] });

  expect(problems).toMatchObject([
    { code: "chain_error", message: expect.stringContaining(`${chainLimits.maxExpressionsLength} characters`) },
  ]);
});

test("large outputs of a run in progress are not dropped for those of another run", async () => {
  const database = await createSqliteDatabase({ path: ":memory:" });
  const settings = { maxKeptBytes: 100, keptDays: 1, log: silent, now: () => 0 };
  const store = openOutputStores(database, settings).of("s", (run) => run === "live");

  store.put("live", "a", "x".repeat(40));
  store.put("ended", "b", "x".repeat(40));
  store.put("new", "c", "x".repeat(40));

  expect([store.get("live", "a"), store.get("ended", "b"), store.get("new", "c")].map(Boolean)).toEqual([
    true,
    false,
    true,
  ]);
  expect(() => store.put("new", "d", "x".repeat(60))).toThrow(/together \(max_kept_bytes\)/);
  expect(store.get("new", "c")).toBeDefined();
  await database.close();
});

test("large outputs expire after kept_days, also while the host runs", async () => {
  const database = await createSqliteDatabase({ path: ":memory:" });
  let now = 0;
  const store = openOutputStores(database, { maxKeptBytes: 1000, keptDays: 2, log: silent, now: () => now }).of(
    "s",
    () => false,
  );
  const day = 24 * 60 * 60 * 1000;

  store.put("one", "a", "first");
  now = 1.9 * day;
  store.put("two", "a", "second");
  expect(store.get("one", "a")).toBe('"first"');
  now = 2.1 * day;
  store.put("three", "a", "third");

  expect([store.get("one", "a"), store.get("two", "a")]).toEqual([undefined, '"second"']);
  await database.close();
});

test("an output that cannot be stored fails its node, and the reason is only logged", async () => {
  const database = await createSqliteDatabase({ path: ":memory:" });
  const logged: unknown[] = [];
  const log = { ...silent, error: (text: string) => void logged.push(text) };
  const store = openOutputStores(database, { maxKeptBytes: 1000, keptDays: 2, log, now: () => 0 }).of("s", () => false);
  await database.close();

  expect(() => store.put("run", "a", "x")).toThrow("its output could not be stored; see the host's log for the reason");
  expect(logged).toHaveLength(1);
});

const silent = { debug() {}, info() {}, warn() {}, error() {} };
