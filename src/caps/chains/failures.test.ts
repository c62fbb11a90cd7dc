import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { core } from "../../protocol/core.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { startHost } from "../../testing/start-host.ts";
import { defineTool, toolOutput } from "../tools/definition/define-tool.ts";
import { toolsPlugin } from "../tools/plugin.ts";
import { chainsPlugin } from "./plugin.ts";
import { startChains, tool } from "./start-chains.suite.ts";

test("a node that fails ends the chain, and parallel nodes are stopped", async () => {
  await using host = await startChains();
  const nodes = [
    tool("slow", "wait", { input: { name: "slow" } }),
    tool("first", "later", {}),
    tool("bad", "fail", { deps: ["first"], input: { message: "no luck" } }),
    tool("never", "echo", { deps: ["bad"] }),
  ];

  const result = await host.api.run({ nodes });

  expect(result).toMatchObject({
    success: false,
    error: {
      code: "chain_node_error",
      message: '"bad" failed: no luck',
      node_id: "bad",
      detail: { code: "runtime_error" },
    },
    failed: ["bad"],
    final_output: null,
  });
  expect(result.errors).toMatchObject({ bad: { code: "runtime_error", message: "no luck" } });
  expect(Object.keys(result.outputs)).toEqual(["first"]);
  await expect.poll(() => host.recorder.stopped).toEqual(["slow"]);
});

test("a tool that answers with a failure fails its node as well", async () => {
  await using host = await startChains();

  const result = await host.api.run({ nodes: [tool("bad", "add", { input: { items: "none" } })] });

  expect(result.error).toMatchObject({ code: "chain_node_error", detail: { code: "schema_violation" } });
});

test("with on_error skip the chain continues without the node's output and is not successful", async () => {
  await using host = await startChains();
  const nodes = [
    tool("bad", "fail", { on_error: "skip", next_node: "next" }),
    tool("next", "echo", { input_map: { got: "bad.data OR 'nothing'", why: "errors.bad.message" } }),
  ];

  const result = await host.api.run({ nodes });

  expect(result).toMatchObject({ success: false, error: null, failed: ["bad"], nodes_run: 2 });
  expect(result.final_output).toEqual({ got: "nothing", why: "broken" });
});

test("with on_error naming a node, that node runs and the usual successor is skipped", async () => {
  await using host = await startChains();
  const nodes = [
    tool("try", "fail", { on_error: "rescue", next_node: "usual" }),
    tool("usual", "echo"),
    tool("rescue", "echo", { input_map: { code: "errors.try.code" } }),
    tool("end", "echo", { input_map: { code: "usual.code || rescue.code" } }),
  ];

  const broken = await host.api.run({ nodes });
  const fine = await host.api.run({
    nodes: [tool("try", "echo", { on_error: "rescue", next_node: "usual" }), ...nodes.slice(1)],
  });

  expect(broken).toMatchObject({ success: true, failed: ["try"], skipped: ["usual"] });
  expect(broken.final_output).toEqual({ code: "runtime_error" });
  expect(fine).toMatchObject({ success: true, failed: [], skipped: ["rescue"] });
});

test("a retryable failure is retried, with the same id each time", async () => {
  await using host = await startChains();
  const retry = { retries: 3, retry_delay: 0.001 };

  const result = await host.api.run({ nodes: [tool("flaky", "fail", { input: { times: 2, key: "a" }, ...retry })] });

  expect(result.final_output).toEqual({ attempts: 3 });
  expect(new Set(host.recorder.calls.map(({ id }) => id))).toEqual(new Set([`${result.run_id}:flaky`]));
});

test("retries are limited, and a failure that is not retryable is not retried", async () => {
  await using host = await startChains();
  const retry = { retries: 2, retry_delay: 0.001 };

  const often = await host.api.run({ nodes: [tool("bad", "fail", { ...retry })] });
  const times = host.recorder.calls.length;
  const once = await host.api.run({ nodes: [tool("bad", "fail", { input: { retryable: false }, ...retry })] });

  expect([often.success, times]).toEqual([false, 3]);
  expect([once.success, host.recorder.calls.length - times]).toEqual([false, 1]);
});

test("a node that times out is stopped, and the timeout applies to each attempt", async () => {
  await using host = await startChains();

  const result = await host.api.run({
    nodes: [tool("slow", "wait", { timeout: 0.05, retries: 1, retry_delay: 0.001, input: { name: "slow" } })],
  });

  expect(result).toMatchObject({ success: false, error: { code: "chain_node_error", detail: { code: "timeout" } } });
  expect(host.recorder.stopped).toEqual(["slow", "slow"]);
});

test("a node's timeout overrides the timeout of its tool, however the tool is called", async () => {
  const never = (name: string, timeoutMs: number) =>
    defineTool({ name, description: "Never ends.", input: z.object({}), timeoutMs, run: () => new Promise(() => {}) });
  const tools = [never("hasty", 30), never("patient", 60_000)];
  for (const hasSecondTools of [false, true]) {
    await using host = await startChains({ tools, hasSecondTools });

    const own = await host.api.run({ nodes: [tool("a", "hasty")] });
    const given = await host.api.run({ nodes: [tool("a", "patient", { timeout: 0.03 })] });

    expect(own.error?.detail).toMatchObject({ code: "timeout", timeout_seconds: 0.03 });
    expect(given.error?.detail).toMatchObject({ code: "timeout", timeout_seconds: 0.03 });
  }
});

test("a tool whose result reports a failure fails its node, with its code", async () => {
  const fails = (name: string, error_code?: string) =>
    defineTool({
      name,
      description: "Fails.",
      input: z.object({}),
      run: () => toolOutput({ error: "no luck", ...(error_code === undefined ? {} : { error_code }) }),
    });
  const nodes = [tool("a", "plain", { on_error: "skip" }), tool("b", "coded", { on_error: "skip" })];
  for (const hasSecondTools of [false, true]) {
    await using host = await startChains({ tools: [fails("plain"), fails("coded", "E7")], hasSecondTools });

    const { errors } = await host.api.run({ nodes });

    expect(errors).toMatchObject({
      a: { code: "runtime_error", message: "no luck", detail: { error_code: "tool_error" } },
      b: { code: "runtime_error", message: "no luck", detail: { error_code: "E7" } },
    });
  }
});

test("a chain that times out stops all work, and answers with the outputs so far", async () => {
  await using host = await startChains();
  const nodes = [
    tool("quick", "echo", { input: { v: 1 } }),
    tool("slow", "wait", { deps: ["quick"], input: { name: "slow" } }),
  ];

  const result = await host.api.run({ nodes, timeout: 0.1 });

  expect(result).toMatchObject({
    success: false,
    error: { code: "timeout" },
    outputs: { quick: { v: 1 } },
    nodes_run: 1,
  });
  await expect.poll(() => host.recorder.stopped).toEqual(["slow"]);
});

test("a timeout beyond the range of timers does not fire at once", async () => {
  await using host = await startChains();
  const warnings: string[] = [];
  const note = (warning: Error) => void warnings.push(warning.name);
  process.on("warning", note);
  const nodes = [
    tool("slow", "wait", { input: { name: "slow" } }),
    { node_id: "m", kind: "map", items: [1], map_node: "each", timeout: 1e9 },
    tool("each", "wait", { input: { name: "slow" } }),
  ];

  const running = host.api.run({ nodes, timeout: 1e9 });
  await expect.poll(() => host.recorder.waiting).toBe(2);
  await new Promise((resolve) => setTimeout(resolve, 20));
  host.recorder.release("slow");

  expect((await running).success).toBe(true);
  process.off("warning", note);
  expect(warnings).toEqual([]);
});

test("a cancelled request stops the chain, also while it waits to retry", async () => {
  await using host = await startChains();
  for (const nodes of [
    [tool("slow", "wait", { input: { name: "slow" } }), tool("after", "echo", { deps: ["slow"] })],
    [tool("bad", "fail", { retries: 1, retry_delay: 60 }), tool("after", "echo", { deps: ["bad"] })],
  ]) {
    const stop = new AbortController();
    const running = host.api.run({ nodes }, { signal: stop.signal }).catch((error: unknown) => error);
    await expect.poll(() => host.recorder.calls.length).toBeGreaterThan(0);
    stop.abort();
    await running;
    await expect.poll(async () => (await host.api.list()).runs).toEqual([]);
    expect(host.recorder.calls.filter(({ tool }) => tool === "echo")).toEqual([]);
    host.recorder.calls.length = 0;
  }
  expect(host.recorder.stopped).toEqual(["slow"]);
});

test("a run can be listed and cancelled by its id, and is answered with its outputs so far", async () => {
  await using host = await startChains();
  const nodes = [tool("a", "echo"), tool("slow", "wait", { deps: ["a"], input: { name: "slow" } })];

  const running = host.api.run({ chain_id: "mine", nodes });
  await expect.poll(() => host.recorder.waiting).toBe(1);
  const [run] = (await host.api.list()).runs;
  const cancelled = await host.api.cancel({ run_id: run?.run_id ?? "" });
  const again = await host.api.cancel({ run_id: "nobody" });

  expect(run).toMatchObject({ chain_id: "mine", status: "running", nodes_run: 1, nodes_total: 2, resumed: false });
  expect([cancelled, again]).toEqual([{ cancelled: true }, { cancelled: false }]);
  expect(await running).toMatchObject({ success: false, error: { code: "cancelled" }, nodes_run: 1 });
  await expect.poll(() => host.recorder.stopped).toEqual(["slow"]);
});

test("a fork of the session does not continue the chain of the original session", async () => {
  await using host = await startChains();
  const running = host.api.run({
    nodes: [tool("a", "later"), tool("slow", "wait", { deps: ["a"], input: { name: "x" } })],
  });
  await expect.poll(() => host.recorder.waiting).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 10));

  const { session_id } = await host.client.use(core).fork();
  const fork = await host.connect({ sessionId: session_id, agentId: host.client.agentId });
  await new Promise((resolve) => setTimeout(resolve, 30));

  expect((await fork.chains.list()).runs).toEqual([]);
  expect(host.recorder.calls.filter(({ tool }) => tool === "wait")).toHaveLength(1);
  host.recorder.release("x");
  expect((await running).success).toBe(true);
});

const loose = z.looseObject({});

test("a node has the timeout of the chain, whatever its tool asks for", async () => {
  const greedy = defineTool({
    name: "greedy",
    description: "Asks for more time than it has.",
    input: loose,
    run(_args, { setTimeout, signal }) {
      setTimeout(60_000);
      return new Promise<null>((resolve) => signal.addEventListener("abort", () => resolve(null)));
    },
  });
  await using host = await startChains({ tools: [greedy] });
  const { error } = await host.api.run({ nodes: [tool("slow", "greedy", { timeout: 0.1 })] });
  expect(error).toMatchObject({ code: "chain_node_error", detail: { code: "timeout" } });
});

test("a tool that cancels its own run is not reported as done, and leaves no run behind", async () => {
  const cancelling = defineTool({
    name: "cancelling",
    description: "Cancels the chain that it is in.",
    input: loose,
    run(_args, { callNow, id }) {
      callNow("chain/cancel/req", { run_id: id.split(":")[0] as string });
      return null;
    },
  });
  await using host = await startChains({ tools: [cancelling] });
  const phases: string[] = [];
  const nodes = [tool("first", "later"), tool("last", "cancelling", { deps: ["first"] })];
  const result = await host.api.run(
    { nodes },
    {
      onEvent: ({ data }) =>
        phases.push(`${(data as { node_id: string }).node_id} ${(data as { phase: string }).phase}`),
    },
  );
  expect(result).toMatchObject({ error: { code: "cancelled" }, outputs: { first: {} } });
  expect(phases).toEqual(["first start", "first done", "last start"]);
  expect(await host.api.list({})).toMatchObject({ runs: [] });
});

test("a run whose request is cancelled while it starts is removed", async () => {
  await using host = await startChains();
  const controller = new AbortController();
  const nodes = [tool("first", "echo"), tool("waiting", "wait", { deps: ["first"] })];
  const running = host.api.run({ nodes }, { signal: controller.signal, onEvent: () => controller.abort() });
  await expect(running).rejects.toThrow("aborted");
  expect(await host.api.list({})).toMatchObject({ runs: [] });
});

test("a map that fails at once leaves no timer", async () => {
  await using host = await startChains();
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const before = timers();
  const nodes = [{ node_id: "map", kind: "map" as const, items: [1], name: "fail", timeout: 20 }];
  for (let count = 0; count < 20; count++) expect(await host.api.run({ nodes })).toMatchObject({ failed: ["map"] });
  expect(timers()).toBeLessThan(before + 20);
});

test.each([false, true])("a node cannot call a tool that the serving plugin denies (pure: %s)", async (pure) => {
  const danger = defineTool({
    name: "danger",
    description: "Not for all.",
    input: z.object({}),
    pure,
    run: () => ({}),
  });
  const careful = toolsPlugin({ builtin: false, deny: ["danger"], exclusive: true, priority: 10 });
  await using host = await startChains({ tools: [danger], plugins: [{ plugin: careful, name: "careful" }] });

  const { error } = await host.api.run({ nodes: [tool("a", "danger")] });

  expect(error).toMatchObject({ node_id: "a", detail: { code: "tool_denied" } });
});

test("a node's timeout ends a tool that blocks a thread, also a tool that is declared pure", async () => {
  await using folder = await mkdtempDisposable();
  const toolText = (name: string, run: string) => `{
    name: "${name}", description: "d", kind: "function", tags: [], version: "1.0.0", source: "", isPure: true,
    inputSchema: { type: "object" }, isIdempotent: false, isStreaming: false, isDeferred: false,
    check: (value) => ({ value }), run: ${run},
  }`;
  const block = toolText("block", "() => { for (;;); }");
  const fine = toolText("fine", "() => ({ data: 'fine' })");
  await writeFile(join(folder.path, "block.mjs"), `export const tools = [${block}, ${fine}];`);
  const tools = toolsPlugin({
    builtin: false,
    modules: ["block.mjs"],
    base_dir: folder.path,
    isolation: "worker",
    workers: 1,
  });
  const database = await createSqliteDatabase({ path: ":memory:" });
  await using host = await startHost({ plugins: [tools, chainsPlugin()], database });

  const { final_output, failed } = await host.client.chains.run({
    nodes: [tool("a", "block", { timeout: 0.1, on_error: "b" }), tool("b", "fine", { timeout: 120 })],
  });

  expect([final_output, failed]).toEqual(["fine", ["a"]]);
});

async function mkdtempDisposable() {
  const path = await mkdtemp(join(tmpdir(), "a2e-chains-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
