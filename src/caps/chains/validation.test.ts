import { expect, test } from "vitest";
import type { ChainNode } from "./protocol.ts";
import { startChains, tool } from "./start-chains.suite.ts";

async function problemsOf(nodes: ChainNode[], entry_node = "", initial_input?: Record<string, string>) {
  await using host = await startChains();
  const { problems, valid } = await host.api.validate({ nodes, entry_node, ...(initial_input && { initial_input }) });
  const run = await host.api.run({ nodes, entry_node, initial_input: initial_input ?? {} });
  expect(valid).toBe(problems.length === 0);
  // validate and run report the same problems, and no node has run.
  if (problems.length > 0) {
    expect(run).toMatchObject({ success: false, nodes_run: 0, error: { problems } });
    expect(host.recorder.calls).toEqual([]);
  }
  return { problems, error: run.error };
}

test("all problems are reported at once, and nothing runs", async () => {
  const { problems, error } = await problemsOf(
    [
      tool("a", "echoo", { next_node: "bb", input_map: { x: "b.[", y: "length(" } }),
      tool("b", "echo", { deps: ["nobody"], on_error: "elsewhere" }),
      { node_id: "m", kind: "map", items_path: "b", map_node: "gone" },
      { node_id: "q", kind: "branch", condition: "a.x ==", true_node: "nope" },
      { node_id: "x", kind: "magic" },
      { node_id: "r", kind: "reduce" },
      tool("b", "echo"),
    ],
    "start",
  );

  const found = problems.map(({ code, node_id }) => `${code} ${node_id}`).sort();
  expect(found).toEqual(
    [
      "bad_entry start",
      "bad_expression a",
      "bad_expression a",
      "bad_expression q",
      "bad_node r",
      "bad_node x",
      "duplicate_node b",
      "unknown_node a",
      "unknown_node b",
      "unknown_node b",
      "unknown_node m",
      "unknown_node q",
      "unknown_tool a",
    ].sort(),
  );
  expect(error?.code).toBe("bad_entry");
});

test("an unknown tool is reported with the nearest name, for every node that names it", async () => {
  const { problems, error } = await problemsOf([tool("a", "ecoh"), tool("b", "ecoh")]);

  expect(problems).toEqual([
    { code: "unknown_tool", message: '"a" names "ecoh", which is not a tool; did you mean "echo"?', node_id: "a" },
    { code: "unknown_tool", message: '"b" names "ecoh", which is not a tool; did you mean "echo"?', node_id: "b" },
  ]);
  expect(error?.code).toBe("chain_error");
});

test.each<[name: string, nodes: ChainNode[], cycle: string[]]>([
  ["itself", [tool("a", "echo", { deps: ["a"] })], ["a", "a"]],
  [
    "each other, by next_node, deps and what they read",
    [
      tool("a", "echo", { next_node: "b" }),
      tool("b", "echo"),
      tool("c", "echo", { deps: ["b"] }),
      tool("a0", "echo", { input_map: { x: "c" }, next_node: "a" }),
    ],
    ["a", "b", "c", "a0", "a"],
  ],
  [
    "each other, by a branch",
    [
      tool("a", "echo"),
      { node_id: "b", kind: "branch", condition: "a", true_node: "a", false_node: "c" },
      tool("c", "echo"),
    ],
    ["a", "b", "a"],
  ],
])("nodes that wait for %s are a chain_cycle with its path", async (_, nodes, cycle) => {
  const { problems, error } = await problemsOf(nodes);

  expect(problems).toMatchObject([{ code: "chain_cycle", cycle }]);
  expect(error).toMatchObject({ code: "chain_cycle", message: `nodes wait for each other: ${cycle.join(" → ")}` });
});

test("maps that run each other are a cycle too", async () => {
  const { problems } = await problemsOf([
    { node_id: "out", kind: "map", items: [1], map_node: "m" },
    { node_id: "m", kind: "map", items: [1], map_node: "n" },
    { node_id: "n", kind: "map", items: [1], map_node: "m" },
  ]);

  expect(problems).toMatchObject([{ code: "chain_cycle", cycle: ["m", "n", "m"] }]);
});

test("a node that the entry does not lead to is reported, unless a reachable node needs it", async () => {
  const { problems } = await problemsOf(
    [
      tool("a", "echo", { next_node: "b" }),
      tool("b", "echo", { deps: ["needed"] }),
      tool("needed", "echo"),
      tool("lost", "echo", { next_node: "lost2" }),
      tool("lost2", "echo"),
    ],
    "a",
  );

  expect(problems.map(({ code, node_id }) => [code, node_id])).toEqual([
    ["unreachable_node", "lost"],
    ["unreachable_node", "lost2"],
  ]);
});

test("a chain without nodes is a bad entry", async () => {
  expect((await problemsOf([])).problems).toMatchObject([{ code: "bad_entry" }]);
});

test("a name that is neither a node nor in the initial input is reported if the initial input is given", async () => {
  const nodes = [tool("a", "echo", { input_map: { x: "$.nmae", y: "input.optional", z: "errors.a" } })];
  await using host = await startChains();

  const alone = await host.api.validate({ nodes });
  const given = await host.api.validate({ nodes, initial_input: {} });
  const filled = await host.api.validate({ nodes, initial_input: { nmae: 1 } });

  expect(alone).toMatchObject({ valid: true, inputs: ["nmae"] });
  expect(given).toMatchObject({ valid: false, problems: [{ code: "unknown_node", node_id: "a" }] });
  expect(filled.valid).toBe(true);
});

test("a valid chain is answered with the steps at which its nodes can run", async () => {
  await using host = await startChains();
  const nodes = [
    tool("d", "echo", { deps: ["b", "c"] }),
    tool("b", "echo", { deps: ["a"] }),
    tool("c", "echo"),
    tool("a", "echo"),
  ];

  expect(await host.api.validate({ nodes })).toMatchObject({ valid: true, levels: [["c", "a"], ["b"], ["d"]] });
});

test("the capabilities that nodes need must be granted", async () => {
  await using host = await startChains();
  const client = await host.connect({ capabilities: ["chains"] });
  const nodes = [
    tool("a", "echo"),
    { node_id: "s", kind: "skill", name: "x" },
    { node_id: "p", kind: "proc", name: "ls" },
  ];

  const { problems } = await client.chains.validate({ nodes });

  expect(problems.map(({ code }) => code)).toEqual(["capability_missing", "capability_missing", "capability_missing"]);
  expect(problems.map(({ message }) => /"(\w+)"/.exec(message)?.[1])).toEqual(["tools", "proc", "skill"]);
});

test("more nodes than max_nodes, and numbers out of range, are rejected", async () => {
  await using host = await startChains({ options: { max_nodes: 2 } });
  const many = await host.api.validate({ nodes: [tool("a", "echo"), tool("b", "echo"), tool("c", "echo")] });
  const numbers = await host.api.validate({
    nodes: [tool("a", "echo", { retries: 99, timeout: -1, retry_delay: -1 })],
  });

  expect(many.problems[0]?.message).toContain("max_nodes");
  expect(numbers.problems.map(({ code }) => code)).toEqual(["bad_node", "bad_node", "bad_node"]);
});

test.each([
  ["a node that is not an object", { nodes: [5] }],
  ["an id that is not a text", { nodes: [{ node_id: 5, kind: "tool" }] }],
  ["nodes that are not a list", { nodes: { a: {} } }],
  ["an input_map that is not an object", { nodes: [{ node_id: "a", kind: "tool", name: "echo", input_map: [] }] }],
])("%s is a schema violation", async (_, fields) => {
  await using host = await startChains();

  await expect(host.api.run(fields as never)).rejects.toMatchObject({ code: "schema_violation" });
});

test.each(["__proto__", "constructor", "m[0]", "m[2][10]", "x".repeat(300), ""])(
  "a node id cannot be %j",
  async (node_id) => {
    await using host = await startChains();
    const nodes = [JSON.parse(JSON.stringify({ kind: "tool", name: "echo", node_id })) as ChainNode];

    expect((await host.api.validate({ nodes })).problems).toMatchObject([{ code: "bad_node" }]);
  },
);

test("a node that a map runs must not have successors, which would run at once", async () => {
  const { problems } = await problemsOf([
    { node_id: "m", kind: "map", items: [1], map_node: "e" },
    tool("e", "later", { next_node: "end", on_error: "rescue" }),
    tool("end", "echo"),
    tool("rescue", "echo"),
  ]);

  expect(problems).toEqual([
    {
      code: "bad_node",
      message: '"e" is run by a map for its items and leads nowhere: set next_node on the map',
      node_id: "e",
    },
    {
      code: "bad_node",
      message: '"e" is run by a map for its items and leads nowhere: set on_error on the map',
      node_id: "e",
    },
  ]);
});

test("a map cannot have retries of its own, nor run a reduce without items", async () => {
  const { problems } = await problemsOf([
    { node_id: "m", kind: "map", items: [1], map_node: "r", retries: 2 },
    { node_id: "r", kind: "reduce", name: "sum" },
  ]);

  expect(problems.map(({ message }) => message)).toEqual([
    'a map itself is not retried, only its items are: set retries on "r"',
    '"r" is run by a map and needs items_path, because no node comes before it',
  ]);
});

test("a chain starts at its entry: a node before it is unreachable", async () => {
  const chain = [tool("a", "echo", { next_node: "b" }), tool("b", "echo", { next_node: "c" }), tool("c", "echo")];

  const { problems } = await problemsOf(chain, "b");
  const needed = await problemsOf([...chain.slice(0, 2), tool("c", "echo", { deps: ["a"] })], "b");

  expect(problems).toEqual([
    {
      code: "unreachable_node",
      message: '"a" is not reached from entry_node "b": no path leads there',
      node_id: "a",
    },
  ]);
  expect(needed.problems).toEqual([]);
});
