import { expect, test, vi } from "vitest";
import { z } from "zod";
import { ToolCatalogue } from "../../plugin/tool-catalogue.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonValue } from "../../protocol/json.ts";
import { defineTool, toolOutput } from "./definition/define-tool.ts";
import { toolLimits } from "./limits.ts";
import { createPlugin } from "./plugin.ts";
import { tools } from "./protocol.ts";
import { createTestCall, startTools } from "./test-call-context.suite.ts";

const tool = (name: string, run: () => JsonValue | Promise<JsonValue> = () => null, more: object = {}) =>
  defineTool({ name, description: `Does ${name}.`, input: z.object({}), run, ...more });

const echo = defineTool({
  name: "echo",
  description: "Returns its text.",
  input: z.object({ text: z.string() }),
  run: ({ text }) => ({ text }),
});

const start = (own: Iterable<ReturnType<typeof tool>>, more: object = {}) =>
  startTools({ builtin: false, tools: own, ...more });

test("a synchronous tool is answered without a promise, with every field of a result", async () => {
  await using host = await start([echo]);
  const call = createTestCall();
  const result = host.handle("call", { tool_name: "echo", arguments: { text: "hello" } }, call);
  expect(result).toEqual({
    data: {
      success: true,
      tool_name: "echo",
      data: { text: "hello" },
      summary: null,
      truncated: false,
      exit_code: null,
      error: null,
      error_code: null,
      duration_ms: 0,
      events: [],
    },
    created_at: 1000,
  });
  expect(tools.calls.call.result.parse(result)).toEqual(result);
});

test("the duration is a whole number of milliseconds", async () => {
  const call = createTestCall();
  const slow = tool("slow", () => {
    call.now += 12.6;
    return null;
  });
  await using host = await start([slow]);
  expect(await host.call("slow", {}, call)).toMatchObject({ data: { duration_ms: 13 } });
});

test("an unknown tool is answered with the nearest names", async () => {
  await using host = await start([tool("read_file"), tool("read_files"), tool("glob")]);
  await expect(host.call("raed_file")).rejects.toMatchObject({
    code: "unknown_tool",
    message: expect.stringContaining('did you mean "read_file"?'),
    detail: { similar: ["read_file", "read_files"] },
  });
  await expect(host.call("")).rejects.toMatchObject({ code: "unknown_tool", detail: { similar: [] } });
});

test("invalid arguments are answered with the problems, before the tool runs", async () => {
  const run = vi.fn(() => null);
  const strict = defineTool({ name: "strict", description: "", input: z.object({ path: z.string() }), run });
  await using host = await start([strict]);
  await expect(host.call("strict", { pth: "a" })).rejects.toMatchObject({
    code: "schema_violation",
    retryable: false,
    message:
      'arguments of "strict": property "path" (string) is required and missing; unknown property "pth"; did you mean "path"?',
    detail: {
      issues: [{ path: "arguments" }, { path: "arguments", message: expect.stringContaining("did you mean") }],
    },
  });
  expect(run).not.toHaveBeenCalled();
});

test("an error of a tool is a tool_error, and an A2EError keeps its code", async () => {
  const throwing = (name: string, error: unknown, isLater: boolean) =>
    tool(name, () => {
      if (isLater) return Promise.reject(error);
      throw error;
    });
  const own = new A2EError("rate_limited", "later", { detail: { retry_after_ms: 5 } });
  await using host = await start([
    throwing("now", new Error("disk full"), false),
    throwing("later", new Error("disk full"), true),
    throwing("text", "odd", false),
    throwing("own", own, true),
  ]);
  const failure = { code: "tool_error", message: "disk full", retryable: true, capability_name: "tools" };
  await expect(host.call("now")).rejects.toMatchObject(failure);
  await expect(host.call("later")).rejects.toMatchObject(failure);
  await expect(host.call("text")).rejects.toMatchObject({ code: "tool_error", message: "odd" });
  await expect(host.call("own")).rejects.toBe(own);
});

test("an output with an error is an answer with success false", async () => {
  const failing = defineTool({
    name: "failing",
    description: "",
    input: z.object({}),
    run: () => toolOutput({ data: { out: "" }, error: "exit 2", exit_code: 2 }),
  });
  await using host = await start([failing]);
  expect(await host.call("failing")).toMatchObject({
    data: { success: false, error: "exit 2", error_code: "tool_error", exit_code: 2, data: { out: "" } },
  });
});

test("a value whose JSON form is null is answered as null, and objects of the tool are never passed on", async () => {
  const held = { toJSON: () => null };
  await using host = await start([
    tool("nan", () => Number.NaN),
    tool("held", () => held as never),
    tool("fine", () => toolOutput({ data: 1, error: null as never }) as never),
  ]);
  expect(await host.call("nan")).toMatchObject({ data: { success: true, data: null } });
  expect(await host.call("held")).toMatchObject({ data: { success: true, data: null } });
  // As a plain JavaScript tool reports that nothing went wrong.
  expect(await host.call("fine")).toMatchObject({ data: { success: true, data: 1, error_code: null } });
});

test("the timeout is the request's in seconds, else the tool's, else the host's", async () => {
  const waiting = tool("waiting", async () => null, { timeoutMs: 7000 });
  await using host = await start([waiting, tool("plain", async () => null)]);
  const timeoutOf = async (tool_name: string, timeout?: number) => {
    const call = createTestCall();
    await host.handle("call", timeout === undefined ? { tool_name } : { tool_name, timeout }, call);
    return call.timeoutMs;
  };
  expect(await timeoutOf("waiting")).toBe(30_000);
  expect(await timeoutOf("waiting", 2.5)).toBe(2500);
  expect(await timeoutOf("waiting", 0)).toBe(7000);
  expect(await timeoutOf("plain", 0)).toBeUndefined();
});

const chatty = defineTool({
  name: "chatty",
  description: "",
  input: z.object({ count: z.int(), size: z.int().default(1) }),
  run({ count, size }, { emit }) {
    for (let step = 1; step <= count; step++) emit("progress", { step, text: "x".repeat(size) });
    return "done";
  },
});

test("events are streamed if the agent asked for it, and collected otherwise", async () => {
  await using host = await start([chatty]);
  const streaming = createTestCall();
  const streamed = await host.handle(
    "call",
    { tool_name: "chatty", arguments: { count: 2 }, streaming: true },
    streaming,
  );
  expect(streaming.events).toHaveLength(2);
  expect(streamed.data.events).toEqual([]);

  const collecting = createTestCall();
  const collected = await host.handle("call", { tool_name: "chatty", arguments: { count: 2 } }, collecting);
  expect(collecting.events).toEqual([]);
  expect(collected.data.events).toEqual([
    { kind: "progress", data: { step: 1, text: "x" }, seq: 1 },
    { kind: "progress", data: { step: 2, text: "x" }, seq: 2 },
  ]);
});

test("collected events are limited in number and size, and dropped events are counted", async () => {
  await using host = await start([chatty], { max_collected_events: 3 });
  const many = (await host.call("chatty", { count: 10 })).data.events ?? [];
  expect(many).toHaveLength(4);
  expect(many.at(-1)).toEqual({ kind: "log", data: { dropped_events: 7 }, seq: 4 });
  const large = (await host.call("chatty", { count: 2, size: toolLimits.maxCollectedEventBytes - 100 })).data.events;
  expect(large).toHaveLength(2);
});

test("the context of a collecting call is otherwise that of the host", async () => {
  const call = createTestCall();
  const seen: unknown[] = [];
  const curious = defineTool({
    name: "curious",
    description: "",
    input: z.object({}),
    run(_args, context) {
      seen.push(context.id, context.session, context.log, context.clock, context.signal, context.isEnded);
      context.setTimeout(5);
    },
  });
  await using host = await start([curious]);
  await host.call("curious", {}, call);
  expect(seen).toEqual([call.id, call.session, call.log, call.clock, call.signal, false]);
  expect(call.timeoutMs).toBe(5);
});

test("text beyond the limit is cut, other data is rejected with advice", async () => {
  const cycle: { self?: JsonValue } = {};
  cycle.self = cycle as JsonValue;
  await using host = await start(
    [
      tool("text", () => "é".repeat(2000)),
      tool("list", () => Array(2000).fill("x")),
      tool("cycle", () => cycle as JsonValue),
    ],
    { max_result_bytes: 1025 },
  );
  expect(await host.call("text")).toMatchObject({ data: { success: true, data: "é".repeat(512), truncated: true } });
  await expect(host.call("list")).rejects.toMatchObject({
    code: "tool_error",
    retryable: false,
    message: expect.stringContaining("ask for less"),
  });
  await expect(host.call("cycle")).rejects.toMatchObject({ code: "tool_error" });
});

test("denied tools are neither listed nor called, and deny overrides allow", async () => {
  await using host = await start([tool("read_a"), tool("read_b"), tool("write_a")], {
    allow: ["read_*"],
    deny: ["*_b"],
  });
  expect(host.list()).toEqual(["read_a"]);
  expect(await host.call("read_a")).toMatchObject({ data: { success: true } });
  for (const name of ["read_b", "write_a"])
    await expect(host.call(name)).rejects.toMatchObject({ code: "tool_denied" });
  await expect(host.call("write_c")).rejects.toMatchObject({ code: "unknown_tool" });
  host.catalogue.add([tool("write_other")]);
  expect(host.list()).toEqual(["read_a"]);
  await expect(host.call("write_other")).rejects.toMatchObject({ code: "tool_denied" });
});

test("a tool that one tools plugin denies is not served by another", async () => {
  const catalogue = new ToolCatalogue();
  await using careful = await startTools(
    { builtin: false, tools: [tool("danger"), tool("safe")], deny: ["danger"] },
    catalogue,
  );
  await using other = await startTools({ builtin: false }, catalogue);
  expect(other.list()).toEqual(["safe"]);
  await expect(other.call("danger")).rejects.toMatchObject({ code: "unknown_tool" });
  await expect(careful.call("danger")).rejects.toMatchObject({ code: "tool_denied" });
});

test("lists filter by kind and by all tags, and search words in names, tags and descriptions, best first", async () => {
  await using host = await start([
    tool("send_mail", undefined, { tags: ["mail", "write"], kind: "action", description: "Sends a letter." }),
    tool("read_mail", undefined, { tags: ["mail", "read"] }),
    tool("mail", undefined, { tags: [], description: "All about post." }),
    tool("archive", undefined, { tags: ["write"], description: "Puts Mail away." }),
    tool("hidden_mail", undefined, { deferred: true }),
  ]);
  expect(host.list()).toEqual(["send_mail", "read_mail", "mail", "archive"]);
  expect(host.list({ include_deferred: true })).toContain("hidden_mail");
  expect(host.list({ filter_kind: "action" })).toEqual(["send_mail"]);
  expect(host.list({ filter_tags: ["mail", "write"] })).toEqual(["send_mail"]);
  expect(host.list({ query: "MAIL" })).toEqual(["mail", "send_mail", "read_mail", "hidden_mail", "archive"]);
  expect(host.list({ query: "mail letter" })).toEqual(["send_mail"]);
  expect(host.list({ query: "read mail" })[0]).toBe("read_mail");
  expect(host.list({ query: "mail nonsense" })).toEqual([]);
  expect(host.list({ query: "mail", filter_tags: ["read"] })).toEqual(["read_mail"]);
});

test("definitions are created once per tool", async () => {
  await using host = await start([echo]);
  expect(host.handle("list", {}).tools?.[0]).toBe(host.handle("list", {}).tools?.[0]);
});

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test("changes of one turn are pushed together, denied tools left out, until the session closes", async () => {
  await using host = await start([echo], { deny: ["secret"] });
  const remove = host.catalogue.add([tool("one"), tool("secret")]);
  host.sessionTools.add([tool("two")]);
  await nextTurn();
  expect(host.pushed).toEqual([{ added: ["one", "two"], removed: [] }]);
  remove();
  await nextTurn();
  expect(host.pushed[1]).toEqual({ added: [], removed: ["one"] });
  host.catalogue.add([tool("fleeting")])();
  host.catalogue.add([tool("late")]);
  await host.part.close?.();
  host.catalogue.add([tool("later")]);
  await nextTurn();
  expect(host.pushed).toHaveLength(2);
});

test("closing the plugin removes its tools", async () => {
  const catalogue = new ToolCatalogue();
  {
    await using host = await startTools({}, catalogue);
    expect(host.list()).toEqual(["read_file", "write_file", "list_dir", "glob", "grep", "http_get", "js_eval"]);
  }
  expect(catalogue.list()).toEqual([]);
});

test("built-in tools can be chosen, and work in the workspace of the host", async () => {
  await using host = await startTools({ builtin: ["read_file", "write_file"] });
  expect(host.list()).toEqual(["read_file", "write_file"]);
  await host.call("write_file", { path: "a.txt", content: "hi" });
  expect(await host.call("read_file", { path: "a.txt" })).toMatchObject({
    data: { data: { content: "hi" }, truncated: false },
  });
});

test("http_get rejects private addresses unless the options allow them", async () => {
  await using host = await startTools({ builtin: ["http_get"] });
  await expect(host.call("http_get", { url: "http://localhost:1/" })).rejects.toMatchObject({ code: "forbidden" });
  await using open = await startTools({ builtin: ["http_get"], http: { allow_private: true } });
  await expect(open.call("http_get", { url: "http://127.0.0.1:1/" })).rejects.toMatchObject({ code: "tool_error" });
});

test("a typo in the options names the key and the one that was meant", () => {
  expect(() => createPlugin({ alow: ["a"] })).toThrow('alow: is not an option here; did you mean "allow"?');
  expect(() => createPlugin({ http: { allow_privat: true } })).toThrow(
    'http.allow_privat: is not an option here; did you mean "allow_private"?',
  );
  expect(() => createPlugin({ builtin: ["read_fil"] })).toThrow(/builtin.*read_file/);
  expect(() => createPlugin({ isolation: "process" })).toThrow(
    'isolation: expected one of none, worker, found "process"',
  );
  expect(() => createPlugin({ js: { memory_mb: "lots" } })).toThrow("js.memory_mb: expected a number");
});

test("the plugin is exclusive, unless the options say otherwise", () => {
  expect(createPlugin({})).toMatchObject({ exclusive: true });
  expect(createPlugin({ exclusive: false, priority: 3 })).toMatchObject({ exclusive: false, priority: 3 });
});
