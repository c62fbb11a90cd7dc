import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { defineTool } from "../caps/tools/definition/define-tool.ts";
import { toolsPlugin } from "../caps/tools/plugin.ts";
import { tools } from "../caps/tools/protocol.ts";
import { probe, probePlugin } from "../host/session/raw-session.suite.ts";
import { askTool, identical, readFixture, record, replay } from "./replayed-session.suite.ts";

const input = { type: "object" };
const toolCall = tools.calls.call.type;

/** Tools with unpredictable results, one asynchronous and one synchronous. */
function drawing() {
  const atOnce = defineTool({ name: "at_once", description: "Draws.", input, run: () => ({ chance: Math.random() }) });
  const slow = defineTool({
    name: "slow",
    description: "Draws, later.",
    input,
    async run() {
      await sleep(5);
      return { chance: Math.random() };
    },
  });
  return [atOnce, slow];
}

test("a handler that makes several calls at once is replayed with their results, promises and errors", async () => {
  const calling = probePlugin(async (_request, { callNow, clock }) => {
    const isAtOnce: boolean[] = [];
    const values: unknown[] = [];
    for (const tool_name of ["at_once", "slow", "at_once", "unknown"]) {
      try {
        const outcome = callNow(toolCall, { tool_name, arguments: {} });
        isAtOnce.push(!(outcome instanceof Promise));
        values.push(await outcome, clock.now());
      } catch (error) {
        values.push(error);
      }
    }
    return { value: JSON.stringify([isAtOnce, values]) };
  });
  const plugins = () => [toolsPlugin({ builtin: false, tools: drawing() }), calling];
  const recorded = await record(plugins(), async (peer) => {
    const answers = await Promise.all(["1", "2", "3"].map((id) => peer.ask(id)));
    for (const { value } of answers) expect(value).toMatch(/^\[\[true,false,true/);
  });
  expect(await replay(recorded, plugins())).toEqual(identical);
});

test("a tool that makes several calls at once makes them again, with their recorded results", async () => {
  const chaining = defineTool({
    name: "chaining",
    description: "Calls the session.",
    input,
    async run(_args, { callNow }) {
      const { value } = await callNow(probe.calls.run.type, { name: "from a tool" });
      const { data } = await callNow(toolCall, { tool_name: "slow", arguments: {} });
      return { value: value ?? null, inner: data ?? null };
    },
  });
  let count = 0;
  const plugins = () => [
    toolsPlugin({ builtin: false, tools: [...drawing(), chaining] }),
    probePlugin(() => ({ value: `counted ${++count}` })),
  ];
  const recorded = await record(plugins(), async (peer) => {
    await Promise.all([askTool(peer, "1", "chaining"), askTool(peer, "2", "chaining")]);
    // The effect of the tool's calls on the session is visible in later answers.
    expect(await peer.ask("3")).toMatchObject({ value: "counted 3" });
  });
  count = 0;
  expect(await replay(recorded, plugins())).toEqual(identical);
});

test("a tool that called others and was cut off before its end does so again up to there", async () => {
  const hanging = defineTool({
    name: "hanging",
    description: "Calls another tool and never ends.",
    input,
    async run(_args, { call, emit }) {
      const { data } = await call(toolCall, { tool_name: "slow", arguments: {} });
      emit("progress", { data: JSON.stringify(data) });
      return new Promise<never>(() => {});
    },
  });
  const plugins = () => [toolsPlugin({ builtin: false, tools: [...drawing(), hanging] })];
  const recorded = await record(plugins(), async (peer) => {
    const hangs = askTool(peer, "1", "hanging", { streaming: true });
    await peer.until(() => peer.received.some(({ type }) => type.endsWith("/event")));
    peer.send({ type: "invoke/cancel/req", id: "2", call_id: "1" });
    expect(await hangs).toMatchObject({ code: "cancelled" });
    await askTool(peer, "3", "at_once");
  });
  expect(await replay(recorded, plugins())).toEqual(identical);
});

test("nested calls that run again under their own ids each get their recorded result", async () => {
  let drawn = 0;
  const draw = () =>
    toolsPlugin({
      builtin: false,
      tools: [
        defineTool({
          name: "draw",
          description: "Draws.",
          input: { type: "object" },
          run: () => {
            drawn += 1;
            return { value: drawn };
          },
        }),
      ],
    });
  const twice = probePlugin(async (_request, { call }) => {
    const values: unknown[] = [];
    for (let count = 0; count < 2; count++) {
      const options = { id: "the-same-step" };
      values.push(await call(tools.calls.call.type, { tool_name: "draw", arguments: {} }, options));
    }
    return { value: JSON.stringify(values) };
  });
  const recorded = await record([draw(), twice], async (peer) => {
    const { value } = await peer.ask("1", "a");
    expect(value).toContain('"value":1');
    expect(value).toContain('"value":2');
  });
  expect(await replay(recorded, [draw(), twice])).toEqual(identical);
  // As an earlier version wrote it.
  expect(await replay({ text: await readFixture("chosen-ids") }, [draw(), twice])).toEqual(identical);
});
