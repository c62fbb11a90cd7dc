import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../protocol/json.ts";
import type { ChainNode } from "./protocol.ts";
import { startChains, tool } from "./start-chains.suite.ts";

const list = (count: number) => Array.from({ length: count }, (_, index) => index);

test("a map runs a node for every item, up to max_parallel at once, and keeps the order", async () => {
  await using host = await startChains();
  const nodes = [
    { node_id: "each", kind: "map", items_path: "input.names", map_node: "one", max_parallel: 3, next_node: "end" },
    tool("one", "wait", { input_map: { name: "_item" } }),
    tool("end", "echo", { input_map: { all: "each[*].name" } }),
  ];
  const names = ["a", "b", "c", "d", "e"];

  const running = host.api.run({ nodes, initial_input: { names }, streaming: false });
  await expect.poll(() => host.recorder.waiting).toBe(3);
  for (const name of ["c", "b", "a"]) host.recorder.release(name);
  await expect.poll(() => host.recorder.calls.length).toBe(5);
  for (const name of ["e", "d"]) host.recorder.release(name);

  const result = await running;
  expect(result.outputs.each).toEqual(names.map((name) => ({ name })));
  expect(result.final_output).toEqual({ all: names });
  expect(host.recorder.mostWaiting).toBe(3);
  expect(result.outputs).not.toHaveProperty("one");
});

test("maps, nested maps and parallel nodes share one limit, and each gets its turn", async () => {
  await using host = await startChains({ options: { max_parallel: 4 } });
  const { recorder } = host;
  const running = host.api.run({
    nodes: [
      { node_id: "one", kind: "map", items: [1, 2, 3], map_node: "row" },
      { node_id: "other", kind: "map", items: [1, 2, 3], map_node: "row" },
      { node_id: "row", kind: "map", items: [1, 2, 3], map_node: "cell" },
      tool("cell", "wait", { input: { name: "x" } }),
      tool("a", "wait", { input: { name: "x" } }),
      tool("b", "wait", { input: { name: "x" }, deps: ["a"] }),
    ],
  });
  await expect.poll(() => recorder.waiting).toBe(4);
  await expect
    .poll(() => {
      recorder.release("x");
      return recorder.calls.length;
    })
    .toBe(20);
  recorder.release("x");

  expect(await running).toMatchObject({ success: true, nodes_run: 4 });
  expect(recorder.mostWaiting).toBe(4);
});

test("waiting items end when their map times out, and when the run ends", async () => {
  await using host = await startChains({ options: { max_parallel: 2 } });
  const { recorder } = host;
  const wait = { input: { name: "x" } };
  const nodes: ChainNode[] = [
    tool("a", "wait", wait),
    { node_id: "m", kind: "map", items: [1, 2, 3], map_node: "cell", timeout: 0.05, on_error: "skip" },
    tool("cell", "wait", wait),
    { node_id: "n", kind: "map", items: [1, 2, 3], map_node: "cell" },
  ];
  const { failed, error } = await host.api.run({ nodes, timeout: 0.3 });

  expect([failed, error?.code]).toEqual([["m"], "timeout"]);
  await expect.poll(() => recorder.waiting).toBe(0);
  const { length } = recorder.calls;
  await host.api.run({ nodes: [tool("later", "later")] });
  expect(recorder.calls).toHaveLength(length + 1);
});

test("very many items that end at once run after items that took a slot", async () => {
  await using host = await startChains({ options: { max_parallel: 2 } });
  const items = Array.from({ length: 2000 }, (_, index) => index);
  const running = host.api.run({
    nodes: [
      tool("a", "wait", { input: { name: "x" } }),
      { node_id: "m", kind: "map", items: [0, 1], map_node: "row" },
      { node_id: "row", kind: "map", items, map_node: "cell" },
      tool("cell", "echo", { input_map: { v: "item" } }),
      tool("b", "wait", { input: { name: "x" } }),
    ],
    streaming: false,
  });
  await expect.poll(() => host.recorder.waiting).toBe(2);
  host.recorder.release("x");

  expect(await running).toMatchObject({ success: true });
  expect(host.recorder.calls).toHaveLength(4002);
});

test("the item reaches the node under both names, and as its only input if the node maps none", async () => {
  await using host = await startChains();
  const nodes = [
    { node_id: "m", kind: "map", items_path: "$.items", map_node: "e" },
    tool("e", "echo", { input: { fixed: 1 }, input_map: { one: "item.p", other: "$._item.p", outer: "base" } }),
    { node_id: "plain", kind: "map", items: [1, 2], name: "echo" },
  ];

  const { outputs } = await host.api.run({ nodes, initial_input: { items: [{ p: 1 }, { p: 2 }], base: "b" } });

  expect(outputs.m).toEqual([1, 2].map((p) => ({ fixed: 1, one: p, other: p, outer: "b" })));
  expect(outputs.plain).toEqual([{ item: 1 }, { item: 2 }]);
});

test("every item has its own idempotency key, with the path to it", async () => {
  await using host = await startChains();

  const { run_id } = await host.api.run({ nodes: [{ node_id: "m:1", kind: "map", items: [1, 2], name: "echo" }] });

  expect(host.recorder.calls.map(({ id }) => id)).toEqual([`${run_id}:m%3A1:0`, `${run_id}:m%3A1:1`]);
});

test("nodes have distinct idempotency keys, whatever their ids", async () => {
  await using host = await startChains();

  await host.api.run({ nodes: [tool("b:c", "echo"), tool("b%3Ac", "echo")] });

  expect(new Set(host.recorder.calls.map(({ id }) => id)).size).toBe(2);
});

test("an item that fails fails the map, with the errors of all failed items", async () => {
  await using host = await startChains();
  const nodes = [
    { node_id: "m", kind: "map", items: [[1], ["x"], [3]], map_node: "sum" },
    tool("sum", "add", { input_map: { items: "item" } }),
  ];

  const result = await host.api.run({ nodes });

  expect(result).toMatchObject({ success: false, failed: ["m"], error: { code: "chain_node_error", node_id: "m" } });
  expect(result.error?.detail.errors).toMatchObject({ 1: { code: "schema_violation" } });
});

test("with on_error skip the other items continue, and the answer lists the failed ones", async () => {
  await using host = await startChains();
  const nodes = [
    { node_id: "m", kind: "map", items: [[1], ["x"], [3]], map_node: "sum", next_node: "total" },
    tool("sum", "add", { input_map: { items: "item" }, on_error: "skip" }),
    { node_id: "total", kind: "reduce", name: "sum", items_path: "m" },
  ];

  const result = await host.api.run({ nodes });

  expect(result).toMatchObject({ success: false, error: null, failed: ["m[1]"], final_output: 4 });
  expect(result.outputs.m).toEqual([1, null, 3]);
  expect(result.errors).toMatchObject({ "m[1]": { code: "schema_violation" } });
});

test("nested maps, empty lists and items that are not a list are handled", async () => {
  await using host = await startChains();
  const nested = [
    { node_id: "rows", kind: "map", items: [[1, 2], [3]], map_node: "row" },
    { node_id: "row", kind: "map", items_path: "item", map_node: "cell" },
    tool("cell", "echo", { input_map: { v: "item" } }),
  ];

  const grid = await host.api.run({ nodes: nested });
  const none = await host.api.run({ nodes: [{ node_id: "m", kind: "map", items: [], name: "echo" }] });
  const wrong = await host.api.run({
    nodes: [{ node_id: "m", kind: "map", items_path: "x", name: "echo" }],
    initial_input: { x: 5 },
  });

  expect(grid.final_output).toEqual([[{ v: 1 }, { v: 2 }], [{ v: 3 }]]);
  expect(none).toMatchObject({ success: true, final_output: [] });
  expect(wrong.error?.message).toBe('"m" failed: the items of "m" are not a list but 5');
});

test("a map waits for the dependencies of the nodes that it runs, at any depth", async () => {
  await using host = await startChains();
  const nodes = [
    { node_id: "rows", kind: "map", items: [[1]], map_node: "row" },
    { node_id: "row", kind: "map", items_path: "item", map_node: "cell" },
    tool("cell", "echo", { input_map: { v: "item" }, deps: ["first"] }),
    tool("first", "later"),
  ];

  await host.api.run({ nodes });

  expect(host.recorder.calls.map(({ tool }) => tool)).toEqual(["later", "echo"]);
});

test("more items than max_items are rejected", async () => {
  await using host = await startChains({ options: { max_items: 3 } });

  const result = await host.api.run({ nodes: [{ node_id: "m", kind: "map", items: list(4), name: "echo" }] });

  expect(result.error?.message).toContain("4 items; the host allows 3 (max_items)");
});

test("a map that times out stops its running items", async () => {
  await using host = await startChains();
  const nodes = [
    { node_id: "m", kind: "map", items: list(4), map_node: "w", timeout: 0.05, max_parallel: 2 },
    tool("w", "wait", { input: { name: "w" }, on_error: "skip" }),
  ];

  const result = await host.api.run({ nodes });

  expect(result.error).toMatchObject({ code: "chain_node_error", detail: { code: "timeout" } });
  expect(host.recorder.stopped).toEqual(["w", "w"]);
});

test("failed items of a nested map are reported with their path", async () => {
  await using host = await startChains();
  const nodes = [
    { node_id: "rows", kind: "map", items: [[1], [2, "x"]], map_node: "row" },
    { node_id: "row", kind: "map", items_path: "item", map_node: "cell", on_error: "skip" },
    tool("cell", "add", { input_map: { items: "[item]" } }),
  ];

  const result = await host.api.run({ nodes });

  expect(result).toMatchObject({ success: false, error: null, failed: ["rows[1][1]"] });
  expect(result.final_output).toEqual([[1], [2, null]]);
  expect(result.errors).toMatchObject({ "rows[1][1]": { code: "schema_violation" } });
});

describe("reduce", () => {
  test.each<[name: string, items: JsonValue[], value: JsonValue]>([
    ["concat", [[1, 2], [3], 4, null], [1, 2, 3, 4]],
    ["concat", ["a", "b"], "ab"],
    ["concat", [], []],
    ["sum", [1, 2.5, null], 3.5],
    ["min", [3, 1, 2], 1],
    ["min", [], null],
    ["max", ["a", "c", "b"], "c"],
    ["merge", [{ a: 1, b: 1 }, { b: 2 }], { a: 1, b: 2 }],
    ["count", [1, null, 3], 3],
    ["first", [1, 2], 1],
    ["last", [1, 2], 2],
    ["last", [], null],
  ])("by %s of %j is %j", async (name, items, value) => {
    await using host = await startChains();

    const result = await host.api.run({ nodes: [{ node_id: "r", kind: "reduce", name, items }] });

    expect(result).toMatchObject({ success: true, final_output: value });
  });

  test.each([
    ["sum", ["x"]],
    ["min", [1, "x"]],
    ["merge", [1]],
  ])("by %s of invalid items fails", async (name, items) => {
    await using host = await startChains();

    const result = await host.api.run({ nodes: [{ node_id: "r", kind: "reduce", name, items }] });

    expect(result.error?.message).toMatch(new RegExp(`"r" failed: ${name} takes`));
  });

  test("by a tool passes all items at once, by default the outputs of the nodes before it", async () => {
    await using host = await startChains();
    const nodes = [
      tool("a", "add", { input: { items: [1, 2] } }),
      tool("b", "add", { input: { items: [4] } }),
      { node_id: "r", kind: "reduce", name: "add", deps: ["a", "b"], input: { plus: 100 } },
    ];

    expect((await host.api.run({ nodes })).final_output).toBe(107);
  });
});
