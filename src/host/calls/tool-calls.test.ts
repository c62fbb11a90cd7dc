import { afterEach, expect, test, vi } from "vitest";
import type { JsonObject } from "../../protocol/json.ts";
import type { CallContext } from "../call-context.ts";
import type { PlainCaller, ToolCaller } from "../plugin.ts";
import { echo, probe, probePlugin, type Run, startRawHost } from "../session/raw-session.suite.ts";
import type { CatalogueTool } from "../tool-catalogue.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Its call `other` stands for the one by which agents call tools. */
function toolsPlugin(run: Run, callTool: ToolCaller["callTool"]) {
  return probePlugin(run, echo, { toolCaller: { call: probe.calls.other, callTool } });
}

test("a tool is called for what it returns, at once or later, and neither side holds what the other has", async () => {
  const args: JsonObject = { list: [1] };
  const seen: unknown[] = [];
  const run: Run = async (_, { callTool }) => {
    seen.push(callTool("now", args, { id: "key" }), await callTool("later", args));
    return { value: JSON.stringify(args) };
  };
  await using raw = await startRawHost([
    toolsPlugin(run, (name, given, isTimed, context) => {
      (given.list as number[]).push(2);
      const output = { data: [name, given, isTimed, context.id === "key"] };
      return name === "now" ? output : Promise.resolve(output);
    }),
  ]);
  const peer = await raw.open();

  expect(await peer.ask("1")).toMatchObject({ value: '{"list":[1]}' });
  expect(seen).toEqual([
    { data: ["now", { list: [1, 2] }, false, true] },
    { data: ["later", { list: [1, 2] }, false, false] },
  ]);
  expect(raw.audit.at(-1)).toMatchObject({ req_id: "1", nested_calls: 2 });
});

test("a tool that fails is audited as the call by which agents call it, and nothing of its arguments is", async () => {
  const run: Run = (_, { callTool }) => {
    callTool("bad", { correlation_id: "an argument" });
    return { value: "not reached" };
  };
  await using raw = await startRawHost([
    toolsPlugin(run, () => {
      throw probe.error("probe_failed", "bad");
    }),
  ]);
  const peer = await raw.open();

  expect(await peer.ask("1")).toMatchObject({ code: "probe_failed", message: "bad" });
  expect(raw.audit.at(-2)).toMatchObject({
    type: "test/other/req",
    capability: "test",
    error_code: "probe_failed",
    correlation_id: "",
  });
});

test("what a tool throws that no table has is told to nobody but the log", async () => {
  const run: Run = (_, { callTool }) => ({ value: JSON.stringify(callTool("defect", {})) });
  await using raw = await startRawHost([
    toolsPlugin(run, () => {
      throw new Error("a defect");
    }),
  ]);
  const peer = await raw.open();

  expect(await peer.ask("1")).toMatchObject({ code: "internal_error" });
  expect(raw.log.entries.map(({ message }) => message)).toContain("handler failed");
});

test("a tool ends with the call that called it, and in the time that it was given", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout", "performance", "Date"] });
  const contexts: CallContext[] = [];
  const run: Run = async ({ name }, { callTool }) => {
    await callTool("endless", {}, name === "timed" ? { timeoutMs: 50 } : {});
    return { value: "not reached" };
  };
  await using raw = await startRawHost([
    toolsPlugin(run, (_name, _args, isTimed, context) => {
      contexts.push(context);
      expect(isTimed).toBe(contexts.length === 2);
      return new Promise(() => {});
    }),
  ]);
  const peer = await raw.open();
  peer.request("1");
  expect(contexts[0]?.signal.aborted).toBe(false);
  peer.session.cancel("1", "");
  peer.request("2", "timed");
  await vi.advanceTimersByTimeAsync(100);

  expect(await peer.answer("1")).toMatchObject({ code: "cancelled" });
  expect(await peer.answer("2")).toMatchObject({ code: "timeout", detail: { timeout_seconds: 0.05 } });
  expect(contexts.map(({ signal }) => signal.aborted)).toEqual([true, true]);
});

test("a tool takes a message where several plugins answer for tools, or none does so for others", async () => {
  const seen: unknown[] = [];
  const run: Run = (_, { callTool }) => {
    seen.push(callTool("a", {}));
    return { value: "" };
  };
  const two = [
    { plugin: toolsPlugin(run, () => ({ data: 1 })), name: "one" },
    { plugin: toolsPlugin(run, () => ({ data: 2 })), name: "two" },
  ];
  for (const plugins of [two, [probePlugin(run)]]) {
    await using raw = await startRawHost(plugins);
    await (await raw.open()).ask("1");
  }

  expect(seen).toEqual([undefined, undefined, undefined]);
});

test("arguments without a JSON form are refused as a request with them would be", async () => {
  let thrown: unknown;
  const run: Run = (_, { callTool }) => {
    try {
      callTool("any", { count: 1n as never });
    } catch (error) {
      thrown = error;
    }
    return { value: "" };
  };
  await using raw = await startRawHost([toolsPlugin(run, () => ({ data: null }))]);
  const peer = await raw.open();
  await peer.ask("1");
  expect(thrown).toMatchObject({ code: "schema_violation" });
});

/** Every tool is one that takes no context and has 50 ms where nothing else is said, or all the time there is. */
function plainPlugin(
  run: Run,
  call: (name: string) => ReturnType<PlainCaller["call"]>,
  time: Pick<CatalogueTool, "timeoutMs"> = { timeoutMs: 50 },
) {
  const callTool = () => {
    throw new Error("called with a context");
  };
  const find = (name: string) => ({ name, ...time }) as CatalogueTool;
  const plain = { find, call: ({ name }: CatalogueTool) => call(name) };
  return probePlugin(run, echo, { toolCaller: { call: probe.calls.other, callTool, plain } });
}

test("a tool that takes no context is counted where it goes well and audited on its own where it fails", async () => {
  const run: Run = async ({ name }, { callTool }) => {
    callTool("good", {});
    await callTool("later", {});
    return { value: JSON.stringify(await callTool(name, {}, { id: "key" })) };
  };
  await using raw = await startRawHost([
    plainPlugin(run, (name) => {
      if (name === "bad") throw probe.error("probe_failed", "bad");
      if (name === "defect") return Promise.reject(new Error("a defect"));
      return name === "later" ? Promise.resolve({ data: name }) : { data: name };
    }),
  ]);
  const peer = await raw.open();

  expect(await peer.ask("1", "good")).toMatchObject({ value: '{"data":"good"}' });
  expect(raw.audit.at(-1)).toMatchObject({ req_id: "1", nested_calls: 3 });
  expect(await peer.ask("2", "bad")).toMatchObject({ code: "probe_failed" });
  expect(raw.audit.at(-2)).toMatchObject({ type: "test/other/req", req_id: "key", error_code: "probe_failed" });
  expect(raw.audit.at(-1)).toMatchObject({ req_id: "2", nested_calls: 2 });
  expect(await peer.ask("3", "defect")).toMatchObject({ code: "internal_error" });
});

test("a tool that takes no context has the time that was given, or its own, and ends with its caller", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout", "performance", "Date"] });
  const run: Run = async ({ name }, { callTool }) => {
    await callTool("endless", {}, name === "timed" ? { timeoutMs: 2000 } : {});
    return { value: "not reached" };
  };
  await using raw = await startRawHost([
    plainPlugin(run, () => {
      vi.setSystemTime(Date.now() + 40);
      return new Promise(() => {});
    }),
  ]);
  const peer = await raw.open();
  peer.request("1");
  await vi.advanceTimersByTimeAsync(30);
  expect(await peer.answer("1")).toMatchObject({ code: "timeout", detail: { timeout_seconds: 0.05 } });
  peer.request("2", "timed");
  peer.request("3", "timed");
  peer.session.cancel("3", "");
  await vi.advanceTimersByTimeAsync(3000);

  expect(await peer.answer("2")).toMatchObject({ code: "timeout", detail: { timeout_seconds: 2 } });
  expect(await peer.answer("3")).toMatchObject({ code: "cancelled" });
  expect(
    raw.audit.filter(({ req_id, error_code }) => !/^[123]$/.test(req_id) && error_code === "cancelled"),
  ).toHaveLength(1);
});

test("a tool without a context and a limit is audited with the time that its caller waited for it", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  const run: Run = async ({ name }, { callTool }) => {
    await callTool(name, {});
    return { value: "not reached" };
  };
  const failed = probe.error("probe_failed", "bad");
  const call = (name: string) => {
    vi.setSystemTime(Date.now() + 40);
    if (name === "at once") throw failed;
    return new Promise<never>((_, reject) => setTimeout(() => reject(failed), 500));
  };
  await using raw = await startRawHost([plainPlugin(run, call, {})]);
  const peer = await raw.open();
  for (const [id, name] of [
    ["1", "at once"],
    ["2", "later"],
  ] as const) {
    peer.request(id, name);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await peer.answer(id)).toMatchObject({ code: "probe_failed" });
  }

  const durations = raw.audit.filter(({ type }) => type === "test/other/req").map(({ duration_ms }) => duration_ms);
  expect(durations).toEqual([0, 500]);
});

test("what a tool that takes no context returns is of no use where it has ended its caller", async () => {
  const outcomes: unknown[] = [];
  const run: Run = ({ name }, { callTool }) => {
    try {
      outcomes.push(callTool(name, {}));
    } catch (error) {
      outcomes.push((error as { code: string }).code);
    }
    return { value: "not sent" };
  };
  await using raw = await startRawHost([
    plainPlugin(run, (name) => {
      peer.session.cancel(name, "");
      return name === "2" ? Promise.reject(new Error("nobody waits for it")) : { data: 1 };
    }),
  ]);
  const peer = await raw.open();

  expect(await peer.ask("1", "1")).toMatchObject({ code: "cancelled" });
  expect(await peer.ask("2", "2")).toMatchObject({ code: "cancelled" });
  expect(outcomes).toEqual(["cancelled", "cancelled"]);
});
