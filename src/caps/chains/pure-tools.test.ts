// Pure tools in chains: run without a call of their own, and indistinguishable from called ones to the agent.
import { expect, test } from "vitest";
import { z } from "zod";
import { type RawPeer, startRawHost } from "../../host/session/raw-session.suite.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { identical, record, replay } from "../../recording/replayed-session.suite.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { defineTool, toolOutput } from "../tools/definition/define-tool.ts";
import type { ToolsOptions } from "../tools/options.ts";
import { toolsPlugin } from "../tools/plugin.ts";
import { chainsPlugin } from "./plugin.ts";
import type { ChainNode } from "./protocol.ts";

const shared: JsonObject = { list: [1] };

function createTools() {
  const seen: number[] = [];
  const input = z.object({ count: z.int().default(1) });
  const tools = [
    defineTool({
      name: "double",
      description: "Doubles a count.",
      input,
      pure: true,
      run({ count }) {
        // biome-ignore lint/complexity/noArguments: a pure tool is given nothing else
        seen.push(arguments.length);
        if (count < 0) throw new Error("less than nothing");
        return { count: count * 2 };
      },
    }),
    defineTool({
      name: "text",
      description: "As many letters.",
      input,
      pure: true,
      run: ({ count }) => "a".repeat(count),
    }),
    defineTool({ name: "shared", description: "One object.", input, pure: true, run: () => shared }),
    defineTool({
      name: "failed",
      description: "Says that it failed.",
      input,
      pure: true,
      run: () => toolOutput({ error: "as told", error_code: "told" }),
    }),
    defineTool({
      name: "later",
      description: "Declares what it does not keep.",
      input,
      pure: true,
      run: async () => 1,
    }),
  ];
  return { tools, seen };
}

async function start(options: ToolsOptions = {}, agent_caps = ["tools", "chains"]) {
  const { tools, seen } = createTools();
  const plugins = [toolsPlugin({ builtin: false, ...options, tools }), chainsPlugin()];
  const raw = await startRawHost(plugins, { database: await createSqliteDatabase({ path: ":memory:" }) });
  const peer = await raw.open({ agent_caps });
  return { raw, seen, run: (id: string, nodes: ChainNode[]) => runChain(peer, id, nodes) };
}

function runChain(peer: RawPeer, id: string, nodes: ChainNode[]) {
  peer.send({ type: "chain/req", id, version: "1.0", nodes });
  return peer.answer(id);
}

function tool(node_id: string, name: string, count = 1, rest: Partial<ChainNode> = {}): ChainNode {
  return { node_id, kind: "tool", name, input: { count }, ...rest };
}

test("a chain of pure tools runs each of them once, without a context, and counts them in its audit entry", async () => {
  const { raw, run, seen } = await start();
  await using _ = raw;
  const second: ChainNode = { node_id: "b", kind: "tool", name: "double", input_map: { count: "a.count" } };
  const items: ChainNode = { node_id: "c", kind: "map", items: [1, 2], name: "double", input_map: { count: "item" } };

  expect(await run("1", [tool("a", "double", 2), second, items])).toMatchObject({
    outputs: { a: { count: 4 }, b: { count: 8 }, c: [{ count: 2 }, { count: 4 }] },
  });
  expect(seen).toEqual([1, 1, 1, 1]);
  expect(raw.audit.at(-1)).toMatchObject({ req_id: "1", nested_calls: 4, success: true });
});

test("a pure tool that fails is called, so that its failure has an audit entry of its own", async () => {
  const { raw, run, seen } = await start();
  await using _ = raw;

  expect(await run("1", [tool("a", "double", -1)])).toMatchObject({
    error: { node_id: "a", detail: { code: "tool_error" }, message: expect.stringContaining("less than nothing") },
  });
  expect(seen).toHaveLength(2);
  expect(raw.audit.at(-2)).toMatchObject({ type: "tool/call/req", error_code: "tool_error" });
  expect(raw.audit.at(-1)).toMatchObject({ req_id: "1", nested_calls: 0 });
  expect(await run("2", [tool("a", "failed")])).toMatchObject({ error: { detail: { error_code: "told" } } });
  expect(await run("3", [{ node_id: "a", kind: "tool", name: "double", input: { count: "x" } }])).toMatchObject({
    error: { detail: { code: "schema_violation" } },
  });
});

test("a tool that is declared pure and returns a promise fails with an error that says so", async () => {
  const { raw, run } = await start();
  await using _ = raw;

  const { error } = await run("1", [tool("a", "later")]);

  expect(error).toMatchObject({ message: expect.stringContaining('tool "later" is declared pure') });
});

test("the limit on the result of a tool call holds for pure tools", async () => {
  const { raw, run } = await start({ max_result_bytes: 1024 });
  await using _ = raw;
  const { final_output } = await run("1", [tool("a", "text", 5000)]);
  expect(String(final_output).length).toBeLessThanOrEqual(1024);
});

test("an agent that did not negotiate tools cannot run a pure tool through a chain", async () => {
  const { raw, run, seen } = await start({}, ["chains"]);
  await using _ = raw;

  expect(await run("1", [tool("a", "double")])).toMatchObject({
    error: { problems: [{ code: "capability_missing" }] },
  });
  expect(seen).toEqual([]);
});

test("the result of a pure tool is copied, so the tool may return the same object every time", async () => {
  const { raw, run } = await start();
  await using _ = raw;
  const { outputs } = await run("1", [tool("a", "shared"), tool("b", "shared")]);
  shared.list = [2];

  expect(outputs).toEqual({ a: { list: [1] }, b: { list: [1] } });
});

test("a recorded chain calls pure tools like others, and its replay is identical", async () => {
  const { tools, seen } = createTools();
  const plugins = () => [toolsPlugin({ builtin: false, tools }), chainsPlugin()];
  const database = () => createSqliteDatabase({ path: ":memory:" });
  const talk = async (peer: RawPeer) =>
    expect(await runChain(peer, "1", [tool("a", "double", 2)])).toMatchObject({ final_output: { count: 4 } });

  const recorded = await record(plugins(), async (peer) => void (await talk(peer)), { database: await database() });

  expect(recorded.text).toContain('"tool",true,{"value":{"data":{"count":4}}}');
  expect(await replay(recorded, plugins(), { host: { database: await database() } })).toEqual(identical);
  expect(seen).toEqual([1]);
});
