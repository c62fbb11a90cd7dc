import { expect, test } from "vitest";
import * as z from "zod";
import { A2EClient } from "../../client/client.ts";
import { FakePeer } from "../../client/fake-transport.suite.ts";
import { core } from "../../protocol/core.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonValue } from "../../protocol/json.ts";
import { defineTool, toolOutput } from "../tools/definition/define-tool.ts";
import { chains, messageLimits } from "./protocol.ts";
import { startChains, tool } from "./start-chains.suite.ts";

test("a chain of the SDK, with all fields that its models fill in, runs and sends its events", async () => {
  await using host = await startChains();
  const blank = {
    name: "",
    input: {},
    input_map: {},
    condition: "",
    true_node: "",
    false_node: "",
    items_path: "",
    map_node: "",
    next_node: "",
    on_error: "abort",
  };
  const nodes = [
    {
      ...blank,
      node_id: "start",
      kind: "tool",
      name: "echo",
      input: { q: 1 },
      input_map: { z: "$.z" },
      next_node: "check",
    },
    {
      ...blank,
      node_id: "check",
      kind: "branch",
      condition: "$.start.z == 'go'",
      true_node: "loop",
      false_node: "stop",
    },
    { ...blank, node_id: "loop", kind: "map", items_path: "$.list", map_node: "each" },
    { ...blank, node_id: "each", kind: "tool", name: "echo" },
    { ...blank, node_id: "stop", kind: "tool", name: "fail" },
  ];
  const events: unknown[] = [];

  const answer = await host.api.run(
    {
      session_id: "",
      chain_id: "sdk",
      nodes,
      entry_node: "start",
      initial_input: { z: "go", list: [1, 2] },
      correlation_id: "c",
      streaming: true,
      timeout: 300,
    },
    { onEvent: ({ kind, seq, data }) => events.push([seq, kind, data.node_id, data.phase]) },
  );

  expect(answer).toMatchObject({
    chain_id: "sdk",
    success: true,
    outputs: { start: { q: 1, z: "go" }, check: true, loop: [{ item: 1 }, { item: 2 }] },
    final_output: [{ item: 1 }, { item: 2 }],
    nodes_run: 3,
    error: null,
  });
  expect(Number.isInteger(answer.duration_ms)).toBe(true);
  expect(events).toEqual([
    [1, "status", "start", "start"],
    [2, "status", "start", "done"],
    [3, "status", "check", "start"],
    [4, "status", "check", "done"],
    [5, "status", "stop", "skip"],
    [6, "status", "loop", "start"],
    [7, "status", "loop", "done"],
  ]);
});

test("an error is an event with its text, and no events are sent with streaming off", async () => {
  await using host = await startChains();
  const nodes = [tool("bad", "fail", { on_error: "skip" })];
  const events: unknown[] = [];
  const onEvent = ({ data }: { data: Record<string, unknown> }) => void events.push([data.phase, data.error]);

  await host.api.run({ nodes }, { onEvent });
  await host.api.run({ nodes, streaming: false }, { onEvent });

  expect(events).toEqual([
    ["start", ""],
    ["error", "broken"],
  ]);
});

test.each([false, true])(
  "a node whose tool result was truncated is marked in its done event (by message: %s)",
  async (byMessage) => {
    const long = defineTool({
      name: "long",
      description: "Returns much text.",
      input: z.looseObject({ later: z.boolean().default(false) }),
      run: ({ later }) => (later ? Promise.resolve("x".repeat(1_100_000)) : "x".repeat(1_100_000)),
    });
    const part = defineTool({
      name: "part",
      description: "Returns a part.",
      input: z.looseObject({}),
      run: () => toolOutput({ data: [1], truncated: true }),
    });
    await using host = await startChains({ tools: [long, part], hasSecondTools: byMessage });
    const marks: unknown[] = [];
    const nodes = [
      tool("a:b", "long"),
      tool("a", "echo", { deps: ["a:b"] }),
      tool("later", "long", { deps: ["a"], input: { later: true } }),
      { node_id: "map", kind: "map", items: [1, 2], name: "part", deps: ["later"] },
    ];

    const onEvent = ({ data }: { data: Record<string, unknown> }) => {
      if (data.phase === "done") marks.push([data.node_id, data.truncated]);
    };
    await host.api.run({ nodes }, { onEvent });

    expect(marks).toEqual([
      ["a:b", true],
      ["a", undefined],
      ["later", true],
      ["map", true],
    ]);
  },
);

test.each<[text: JsonValue, error: unknown]>([
  ["no such tool", { code: "chain_error", message: "no such tool" }],
  ["", null],
  [null, null],
])("a host that sends the error of a run as %j is understood", async (text, error) => {
  const peer = new FakePeer();
  const client = await A2EClient.connect({ transport: peer.transport });
  const answered = client.rpc(chains.calls.run, { nodes: [] });
  peer.answer(peer.last, "chain/resp", { chain_id: "c", success: false, error: text });

  expect(await answered).toMatchObject({ success: false, error });
});

test("an output too large for a message is answered as a reference and read in pages that cut no character", async () => {
  await using host = await startChains({ options: { max_inline_bytes: 1000 } });
  const nodes = [
    tool("big", "blow", { input: { length: 500 } }),
    tool("use", "echo", { input_map: { size: "length(big.text)" } }),
  ];

  const { outputs, run_id, final_output } = await host.api.run({ nodes });
  let text = "";
  let offset: number | null = 0;
  let pages = 0;
  while (offset !== null) {
    const page = await host.api.output({ run_id, node_id: "big", offset, limit: 333 });
    expect(page.text).not.toMatch(/[\ud800-\udbff]$/);
    text += page.text;
    offset = page.next_offset;
    pages += 1;
  }

  expect(outputs.big).toMatchObject({ $ref: "chain/output", run_id, node_id: "big", bytes: 3011 });
  expect(JSON.parse(text)).toEqual({ text: "é😀".repeat(500) });
  expect(pages).toBeGreaterThan(3);
  expect(final_output).toEqual({ size: 1000 });
});

test("outputs that are too large together are references as well, and the oldest stored outputs are dropped first", async () => {
  await using host = await startChains({ options: { max_answer_bytes: 2000, max_kept_bytes: 2048 } });
  const nodes = ["a", "b", "c", "d"].map((id) => tool(id, "blow", { input: { length: 150 } }));

  const { outputs, run_id } = await host.api.run({ nodes });

  expect(Object.values(outputs).map((output) => "$ref" in (output as object))).toEqual([false, false, true, true]);
  await expect(host.api.output({ run_id, node_id: "d" })).resolves.toMatchObject({ total: 461 });
  await expect(host.api.output({ run_id, node_id: "a" })).rejects.toMatchObject({ code: "unknown_output" });
  for (let more = 0; more < 2; more++) await host.api.run({ nodes });
  await expect(host.api.output({ run_id, node_id: "d" })).rejects.toMatchObject({ code: "unknown_output" });
});

test("a page is not longer than a message may be", async () => {
  await using host = await startChains();
  const page = { run_id: "r", node_id: "n", limit: messageLimits.maxPageLength + 1 };

  await expect(host.api.output(page)).rejects.toMatchObject({ code: "schema_violation" });
});

test("another session does not read a large output", async () => {
  await using host = await startChains({ options: { max_inline_bytes: 100 } });
  const { run_id } = await host.api.run({ nodes: [tool("big", "blow", { input: { length: 50 } })] });
  const other = await host.connect();

  await expect(other.chains.output({ run_id, node_id: "big" })).rejects.toMatchObject({ code: "unknown_output" });
});

test("a fork reads the large outputs of its ancestors, and they do not read those of the fork", async () => {
  await using host = await startChains({ options: { max_inline_bytes: 100 } });
  const forkOf = async (client: typeof host.client) => {
    const { session_id } = await client.use(core).fork();
    return host.connect({ sessionId: session_id, agentId: client.agentId });
  };
  const blow = (client: typeof host.client) =>
    client.chains.run({ nodes: [tool("big", "blow", { input: { length: 50 } })] });
  const { run_id } = await blow(host.client);
  const child = await forkOf(host.client);
  const grandchild = await forkOf(child);
  const own = await blow(child);

  const { text } = await host.api.output({ run_id, node_id: "big" });
  expect(await child.chains.output({ run_id, node_id: "big" })).toMatchObject({ text });
  expect(await grandchild.chains.output({ run_id, node_id: "big" })).toMatchObject({ text });
  await expect(host.api.output({ run_id: own.run_id, node_id: "big" })).rejects.toMatchObject({
    code: "unknown_output",
  });
});

test("an approval waits for the agent and passes its answer on", async () => {
  await using host = await startChains();
  const asked: unknown[] = [];
  host.client.onAsk(chains.asks.approve, async (request) => {
    asked.push(request);
    return { approved: true, comment: "fine", data: { version: 2 } };
  });
  const nodes = [
    tool("plan", "echo", { input: { version: 1 } }),
    { node_id: "ok", kind: "approval", message: "Publish?", input_map: { version: "plan.version" } },
    tool("publish", "echo", { input_map: { version: "ok.data.version", by: "ok.comment" } }),
  ];

  const result = await host.api.run({ chain_id: "release", nodes });

  expect(asked).toMatchObject([
    { chain_id: "release", run_id: result.run_id, node_id: "ok", message: "Publish?", data: { version: 1 } },
  ]);
  expect(result.final_output).toEqual({ version: 2, by: "fine" });
});

test("a denied approval stops the chain, or continues with the node of on_error", async () => {
  await using host = await startChains();
  host.client.onAsk(chains.asks.approve, async () => ({ approved: false, comment: "too late" }));
  const ask = { node_id: "ok", kind: "approval" };

  const stopped = await host.api.run({ nodes: [ask, tool("go", "echo", { deps: ["ok"] })] });
  const turned = await host.api.run({
    nodes: [{ ...ask, on_error: "no", next_node: "go" }, tool("go", "echo"), tool("no", "echo")],
  });

  expect(stopped.error).toMatchObject({
    code: "chain_node_error",
    message: '"ok" failed: "ok" was not approved: too late',
    detail: { code: "approval_denied" },
  });
  expect(turned).toMatchObject({ success: true, skipped: ["go"] });
  expect(host.recorder.calls).toHaveLength(1);
});

test("an approval can time out, and fails for an agent that cannot be asked", async () => {
  await using host = await startChains();
  const nodes = [{ node_id: "ok", kind: "approval", timeout: 0.05 }];

  const unable = await host.api.run({ nodes: [{ node_id: "ok", kind: "approval" }] });
  host.client.onAsk(chains.asks.approve, () => new Promise(() => {}));
  const late = await host.api.run({ nodes });

  expect(unable.error?.detail.code).toBe("unknown_type");
  expect(late.error?.detail.code).toBe("timeout");
});

test("a map that times out ends its pending approvals", async () => {
  await using host = await startChains();
  host.client.onAsk(chains.asks.approve, () => new Promise(() => {}));
  const nodes = [
    { node_id: "m", kind: "map", items: [1, 2], map_node: "ok", timeout: 0.05 },
    { node_id: "ok", kind: "approval" },
  ];

  const result = await host.api.run({ nodes });

  expect(result.error).toMatchObject({ code: "chain_node_error", node_id: "m", detail: { code: "timeout" } });
});

test("an approval without a timeout waits as long as its chain", async () => {
  await using host = await startChains({ limits: { askTimeoutMs: 20 } });
  host.client.onAsk(chains.asks.approve, async () => {
    await new Promise((resolve) => setTimeout(resolve, 60));
    return { approved: true };
  });

  expect((await host.api.run({ nodes: [{ node_id: "ok", kind: "approval" }] })).success).toBe(true);
});

test("a node without a timeout has the timeout of its chain, not the default of a call", async () => {
  await using host = await startChains({ limits: { callTimeoutMs: 20 } });
  const running = host.api.run({ nodes: [tool("slow", "wait", { input: { name: "slow" } })] });
  await new Promise((resolve) => setTimeout(resolve, 60));
  host.recorder.release("slow");

  expect((await running).success).toBe(true);
});

test("an error of the approval handler is the node's error", async () => {
  await using host = await startChains();
  host.client.onAsk(chains.asks.approve, async () => {
    throw new A2EError("forbidden", "ask my owner");
  });

  const result = await host.api.run({ nodes: [{ node_id: "ok", kind: "approval" }] });

  expect(result.error?.message).toBe('"ok" failed: ask my owner');
});
