import { expect, test } from "vitest";
import * as z from "zod";
import { A2EClient } from "../../client/client.ts";
import type { CatalogueTool } from "../../plugin/tool-catalogue.ts";
import { createDirectTransport } from "../../transports/direct.ts";
import { defineTool } from "../tools/definition/define-tool.ts";
import { chains } from "./protocol.ts";
import { startChains, tool } from "./start-chains.suite.ts";

test("nodes run after their dependencies, in every spelling of a dependency", async () => {
  await using host = await startChains();
  const nodes = [
    tool("last", "echo", { input_map: { from: "third" } }),
    tool("third", "echo", { deps: ["second"] }),
    tool("first", "echo", { input: { text: "hi" }, next_node: "second" }),
    tool("second", "later", { input_map: { text: "$.first.text" } }),
  ];

  const result = await host.api.run({ chain_id: "order", nodes });

  expect(result).toMatchObject({
    chain_id: "order",
    success: true,
    error: null,
    nodes_run: 4,
    failed: [],
    skipped: [],
  });
  expect(host.recorder.calls.map(({ args }) => args)).toEqual([{ text: "hi" }, { text: "hi" }, {}, { from: {} }]);
  expect(result.outputs).toEqual({ first: { text: "hi" }, second: { text: "hi" }, third: {}, last: { from: {} } });
  expect(result.final_output).toEqual({ from: {} });
});

test("independent nodes run at once, up to the limit of the request", async () => {
  await using host = await startChains({ options: { max_parallel: 8 } });
  const nodes = Array.from({ length: 6 }, (_, index) => tool(`n${index}`, "wait", { input: { name: "all" } }));

  const running = host.api.run({ nodes, max_parallel: 4, streaming: false });
  await expect.poll(() => host.recorder.waiting).toBe(4);
  host.recorder.release("all");
  await expect.poll(() => host.recorder.waiting).toBe(2);
  host.recorder.release("all");

  expect((await running).nodes_run).toBe(6);
  expect(host.recorder.mostWaiting).toBe(4);
});

test("the host's own limit overrides a request that asks for more", async () => {
  await using host = await startChains({ options: { max_parallel: 2 } });
  const nodes = Array.from({ length: 4 }, (_, index) => tool(`n${index}`, "wait", { input: { name: "all" } }));

  const running = host.api.run({ nodes, max_parallel: 100, streaming: false });
  await expect.poll(() => host.recorder.waiting).toBe(2);
  host.recorder.release("all");
  await expect.poll(() => host.recorder.calls.length).toBe(4);
  host.recorder.release("all");

  await running;
  expect(host.recorder.mostWaiting).toBe(2);
});

test("a diamond is not a cycle, and its join runs once", async () => {
  await using host = await startChains();
  const nodes = [
    tool("a", "echo", { input: { v: 1 } }),
    tool("b", "later", { deps: ["a"], input: { v: 2 }, next_node: "d" }),
    tool("c", "echo", { deps: ["a"], input: { v: 3 }, next_node: "d" }),
    tool("d", "echo", { input_map: { b: "b.data.v", c: "$.c.v" } }),
  ];

  const result = await host.api.run({ nodes, entry_node: "a" });

  expect(result.final_output).toEqual({ b: 2, c: 3 });
  expect(result.nodes_run).toBe(4);
});

test("a branch takes one path, skips the other, and the node that joins both runs", async () => {
  await using host = await startChains();
  const nodes = [
    tool("count", "echo", { input: { n: 7 } }),
    { node_id: "many", kind: "branch", condition: "$.count.n >= 5", true_node: "yes", false_node: "no" },
    tool("yes", "echo", { input: { say: "many" } }),
    tool("no", "echo", { input: { say: "few" } }),
    tool("after-no", "echo", { deps: ["no"] }),
    tool("join", "echo", { input_map: { said: "yes.output.say OR no.output.say" } }),
  ];
  const phases: string[] = [];

  const result = await host.api.run({ nodes }, { onEvent: ({ data }) => phases.push(`${data.node_id} ${data.phase}`) });

  expect(result).toMatchObject({ success: true, skipped: ["no", "after-no"], nodes_run: 4 });
  expect(result.outputs).toEqual({ count: { n: 7 }, many: true, yes: { say: "many" }, join: { said: "many" } });
  expect(phases).toContain("no skip");
  expect(phases).not.toContain("no start");
});

test("a node that a branch did not choose is skipped although another node that it reads has run", async () => {
  await using host = await startChains();
  const nodes = [
    tool("a", "echo", { input: { n: 1 } }),
    { node_id: "b", kind: "branch", condition: "a.n == 2", true_node: "t", false_node: "f" },
    tool("t", "echo", { input_map: { n: "a.n" } }),
    tool("f", "echo", { input_map: { n: "a.n" } }),
  ];

  const result = await host.api.run({ nodes });

  expect(result.skipped).toEqual(["t"]);
  expect(result.final_output).toEqual({ n: 1 });
});

test("gather lists the outputs of its dependencies, in the order in which it names them", async () => {
  await using host = await startChains();
  const nodes = [
    tool("a", "later", { input: { v: "a" } }),
    tool("b", "echo", { input: { v: "b" } }),
    { node_id: "all", kind: "gather", deps: ["b", "a"] },
  ];

  expect((await host.api.run({ nodes })).final_output).toEqual([{ v: "b" }, { v: "a" }]);
});

test("if several nodes are last, the final output has all of them", async () => {
  await using host = await startChains();

  const result = await host.api.run({ nodes: [tool("a", "echo"), tool("b", "echo", { input: { x: 1 } })] });

  expect(result.final_output).toEqual({ a: {}, b: { x: 1 } });
});

test("the documentation's names of node fields are accepted", async () => {
  await using host = await startChains();
  const nodes = [
    { id: "read", type: "action", action: "echo", input: { output: "text" } },
    { id: "again", action: "echo", depends_on: ["read"], input_map: { text: "read.output" } },
  ];

  expect((await host.api.run({ nodes })).outputs).toEqual({ read: { output: "text" }, again: { text: "text" } });
});

test("an expression that reads everything sees the outputs so far, and waits for the nodes that it names", async () => {
  await using host = await startChains();
  const nodes = [
    tool("named", "later", { input: { v: 1 } }),
    tool("other", "wait", { input: { name: "other" } }),
    tool("all", "echo", { input_map: { keys: "keys($)", v: "[named.data.v, @][0]" } }),
    tool("alone", "echo", { input_map: { keys: "keys(@)" } }),
    tool("after", "echo", { deps: ["other"], input_map: { keys: "sort(keys($))" } }),
    tool("end", "wait", { input: { name: "other" }, deps: ["all"] }),
  ];

  const running = host.api.run({ nodes });
  await expect.poll(() => host.recorder.waiting).toBe(2);
  host.recorder.release("other");
  const { outputs } = await running;

  expect(outputs.alone).toEqual({ keys: ["errors", "input"] });
  expect(outputs.all).toMatchObject({ v: 1, keys: ["errors", "input", "named", "alone"] });
  expect((outputs.after as { keys: string[] }).keys).toEqual(
    expect.arrayContaining(["all", "alone", "named", "other"]),
  );
});

test("a copy of a pure tool whose own function takes a context gets a context", async () => {
  const plain = defineTool({ name: "plain", description: "P.", input: z.looseObject({}), run: () => ({ v: 1 }) });
  const ids: string[] = [];
  const wrapped: CatalogueTool = {
    ...plain,
    name: "wrapped",
    run(args, context) {
      ids.push(context.id);
      context.emit("status", { step: 1 });
      return plain.run(args, context);
    },
  };
  await using host = await startChains({ tools: [plain, wrapped] });
  const told: unknown[] = [];
  const onEvent = ({ data }: { data: Record<string, unknown> }) => void told.push([data.node_id, data.phase]);

  const { run_id } = await host.api.run({ nodes: [tool("a", "wrapped")] }, { onEvent });
  const { data } = await host.client.tools.call({ tool_name: "wrapped" });

  expect(ids[0]).toBe(`${run_id}:a`);
  expect(told).toEqual([
    ["a", "start"],
    ["a", "event"],
    ["a", "done"],
  ]);
  expect(data.events).toHaveLength(1);
});

test("two hundred nodes one after the other keep their order", async () => {
  await using host = await startChains();
  const nodes = Array.from({ length: 200 }, (_, index) =>
    tool(`n${index}`, index % 2 === 0 ? "echo" : "later", {
      input: { index },
      next_node: index < 199 ? `n${index + 1}` : "",
    }),
  );

  const result = await host.api.run({ nodes, entry_node: "n0", streaming: false });

  expect(result.final_output).toEqual({ index: 199 });
  expect(host.recorder.calls.map(({ args }) => (args as { index: number }).index)).toEqual(
    nodes.map((_, index) => index),
  );
});

test("a chain that has changed since it was last sent is compiled again", async () => {
  await using host = await startChains();
  const chain = (v: number) => [tool("a", "echo", { input: { v } }), tool("b", "echo", { input_map: { v: "a.v" } })];

  const outputs = [];
  for (const v of [1, 2, 2, 1]) outputs.push((await host.api.run({ nodes: chain(v) })).final_output);

  expect(outputs).toEqual([{ v: 1 }, { v: 2 }, { v: 2 }, { v: 1 }]);
});

test("an in-process agent that modifies its answer changes neither the rest of it nor the next answer", async () => {
  const shared = { list: [1] };
  const constant = defineTool({ name: "constant", description: "", input: z.object({}), run: () => shared });
  await using host = await startChains({ tools: [constant] });
  const nodes = [
    tool("a", "constant"),
    { node_id: "given", kind: "gather", input: { list: [1] } },
    { node_id: "both", kind: "gather", deps: ["a", "given"] },
  ];
  // Without the recorded wire of the tests, which copies messages.
  const transport = createDirectTransport(() => host.host.sessions.create());
  await using client = await A2EClient.connect({ transport, capabilities: ["tools", "chains"] });
  type Outputs = { a: typeof shared; given: typeof shared; both: (typeof shared)[] };
  const run = async () => {
    const result = await client.use(chains).run({ nodes, streaming: false });
    return { ...result, outputs: result.outputs as unknown as Outputs };
  };

  const { outputs, final_output } = await run();
  for (const each of [outputs.a, outputs.given, ...outputs.both]) each.list.push(each.list.length + 1);

  const one = { list: [1, 2] };
  expect(outputs).toEqual({ a: one, given: one, both: [one, one] });
  expect(final_output).toEqual([{ list: [1] }, { list: [1] }]);
  const fresh = { list: [1] };
  expect((await run()).outputs).toEqual({ a: fresh, given: fresh, both: [fresh, fresh] });
});
