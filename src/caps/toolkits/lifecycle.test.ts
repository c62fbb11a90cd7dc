import { expect, test, vi } from "vitest";
import { core } from "../../protocol/core.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { defineToolkit } from "./define-toolkit.ts";
import { actionsOf, createProbe, startToolkits } from "./start-toolkits.suite.ts";

test("a toolkit is available, installed, configured and running, and its tools exist only while it runs", async () => {
  const { toolkit, seen } = createProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit] });
  const { kits, stateOf, toolNames } = host;
  expect(await stateOf("probe")).toBe("available");

  const installed = await kits.install({ toolkit_name: "probe" });
  expect(installed).toMatchObject({ toolkit_name: "probe", status: "ok", toolkit: { state: "installed" } });
  expect(await toolNames()).toEqual([]);

  const configured = await kits.configure({ toolkit_name: "probe", config: { greeting: "hey" }, start: false });
  expect(configured).toMatchObject({ status: "configured", toolkit: { state: "configured", configured: true } });
  expect([await toolNames(), seen.started]).toEqual([[], 0]);

  const running = await kits.configure({ toolkit_name: "probe", config: { greeting: "hey" } });
  expect(running).toMatchObject({ status: "ok", toolkit: { state: "running", config: { greeting: "hey", times: 1 } } });
  expect(await toolNames()).toEqual(["probe__greet", "probe__leak", "probe__wait"]);
  expect(await host.call("probe__greet", { name: "Ada" })).toEqual({ text: "hey Ada", is_open: true });

  const removed = await kits.uninstall({ toolkit_name: "probe" });
  expect(removed).toMatchObject({ status: "ok", toolkit: { state: "available", configured: false, config: {} } });
  expect(await toolNames()).toEqual([]);
  await expect(host.call("probe__greet", { name: "Ada" })).rejects.toMatchObject({ code: "unknown_tool" });
  expect(seen).toEqual({ started: 1, stopped: 1 });
});

test("configure alone installs and starts a toolkit, in both documented shapes", async () => {
  const { toolkit } = createProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit] });
  await host.kits.configure({ session_id: "", toolkit_name: "probe", config: { greeting: "hi" } });
  expect(await host.call("probe__greet", { name: "x" })).toMatchObject({ text: "hi x" });

  const answer = await host.kits.configure({ name: "probe", schema: { greeting: "yo" } });

  expect(answer).toMatchObject({
    toolkit_name: "probe",
    error: "",
    toolkit: { name: "probe", config: { greeting: "yo" } },
  });
  expect(host.wire.at(-1)?.message).toMatchObject({ name: "probe", status: "ok" });
  expect(await host.call("probe__greet", { name: "x" })).toMatchObject({ text: "yo x" });
});

test("a toolkit can be installed several times under aliases, each with its own config", async () => {
  const { toolkit } = createProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit] });
  await host.kits.install({ toolkit_name: "probe", alias: "english", config: { greeting: "hello" } });
  await host.kits.install({ toolkit_name: "probe", alias: "german", config: { greeting: "moin" } });

  expect(await host.call("german__greet", { name: "x" })).toMatchObject({ text: "moin x" });
  expect(await host.call("english__greet", { name: "x" })).toMatchObject({ text: "hello x" });
  const { toolkits } = await host.kits.list({ filter_state: "running" });
  expect(toolkits.map(({ name, alias }) => [name, alias])).toEqual([
    ["probe", "english"],
    ["probe", "german"],
  ]);
  const { tools } = await host.client.tools.list();
  expect(tools.find(({ name }) => name === "german__greet")).toMatchObject({
    toolkit: "german",
    source: "toolkit probe",
  });
  await host.kits.uninstall({ toolkit_name: "english" });
  expect((await host.toolNames()).every((name) => name.startsWith("german__"))).toBe(true);
});

test("lists are filtered by category, tags and state at once", async () => {
  const { toolkit } = createProbe();
  await using host = await startToolkits({ toolkits: [toolkit] });
  const names = async (request: Parameters<typeof host.kits.list>[0]) =>
    (await host.kits.list(request)).toolkits.map(({ name }) => name);
  expect(await names({})).toEqual(["probe", "filesystem", "http", "sqlite"]);
  expect(await names({ filter_kind: "test" })).toEqual(["probe"]);
  expect(await names({ filter_tags: ["probe", "test"] })).toEqual(["probe"]);
  expect(await names({ filter_tags: ["probe", "http"] })).toEqual([]);
  expect(await names({ filter_kind: "files", filter_tags: ["files"] })).toEqual(["filesystem"]);
  expect(await names({ filter_kind: "no such kind" })).toEqual([]);
  expect(await names({ filter_state: "running" })).toEqual([]);
  await host.configure("probe");
  expect(await names({ filter_state: "running" })).toEqual(["probe"]);
});

test("all problems of a config are reported at once, and nothing of it is stored", async () => {
  const { toolkit, seen } = createProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit] });
  const error = await host.configure("probe", { greeting: "h", times: "many", tokn: "x" }).catch((cause) => cause);
  expect(error).toMatchObject({ code: "schema_violation", capability_name: "toolkits" });
  expect(error.detail.issues.map(({ path }: { path: string }) => path).sort()).toEqual([
    "config",
    "config.greeting",
    "config.times",
  ]);
  expect(error.message).toContain('did you mean "token"');
  expect(await host.stateOf("probe")).toBe("available");
  expect(seen.started).toBe(0);
});

test("defaults are filled in, and a config replaces the earlier config completely", async () => {
  const { toolkit, seen } = createProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit] });
  await host.configure("probe", { greeting: "hi", times: 2 });
  const { toolkit: shown } = await host.configure("probe", { greeting: "yo" });
  expect(shown.config).toEqual({ greeting: "yo", times: 1 });
  expect(seen).toEqual({ started: 2, stopped: 1 });
});

test("a toolkit that cannot start is answered with partial: configured, with the reason, and without tools", async () => {
  const probe = createProbe({ failWith: "the server is away" });
  await using host = await startToolkits({ builtin: false, toolkits: [probe.toolkit] });

  const answer = await host.configure("probe");

  expect(answer).toMatchObject({ status: "partial", message: "the server is away", error: "the server is away" });
  expect(answer.toolkit).toMatchObject({ state: "configured", error: "the server is away" });
  expect(await host.toolNames()).toEqual([]);
  probe.failWith(undefined);
  expect(await host.configure("probe")).toMatchObject({ status: "ok", toolkit: { error: "" } });
});

test("a config that cannot start leaves the running toolkit unchanged", async () => {
  const probe = createProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [probe.toolkit] });
  await host.configure("probe", { greeting: "first" });
  probe.failWith("no such server");

  await expect(host.configure("probe", { greeting: "second" })).rejects.toMatchObject({
    code: "toolkit_error",
    message: expect.stringContaining("no such server"),
  });

  expect(await host.call("probe__greet", { name: "x" })).toMatchObject({ text: "first x", is_open: true });
  expect((await host.kits.list()).toolkits[0]).toMatchObject({ state: "running", config: { greeting: "first" } });
});

test("a running call finishes with its resource even if its toolkit is removed", async () => {
  const probe = createProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [probe.toolkit] });
  await host.configure("probe");
  const waiting = host.call("probe__wait");
  await vi.waitFor(() => expect(probe.gate.open.name).not.toBe("open"));

  await host.kits.uninstall({ toolkit_name: "probe" });
  expect(probe.seen.stopped).toBe(0);
  probe.gate.open();

  expect(await waiting).toEqual({ is_open: true });
  await vi.waitFor(() => expect(probe.seen.stopped).toBe(1));
});

test("concurrent changes of one toolkit run one after the other", async () => {
  const probe = createProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [probe.toolkit] });
  await Promise.all([
    ...["a1", "b2", "c3"].map((greeting) => host.configure("probe", { greeting })),
    host.kits.uninstall({ toolkit_name: "probe" }),
    host.configure("probe", { greeting: "last" }),
  ]);
  expect(await host.call("probe__greet", { name: "x" })).toMatchObject({ text: "last x" });
  await vi.waitFor(() => expect(probe.seen).toEqual({ started: 4, stopped: 3 }));
});

test("agents are notified when tools are added and removed", async () => {
  const { toolkit } = createProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit] });
  const told: unknown[] = [];
  host.client.onPush("tool/changed", ({ added, removed }) => told.push({ added, removed }));
  await host.configure("probe");
  await vi.waitFor(() => expect(told).toHaveLength(1));
  await host.kits.uninstall({ toolkit_name: "probe" });
  await vi.waitFor(() => expect(told).toHaveLength(2));
  const names = ["probe__greet", "probe__leak", "probe__wait"];
  expect(told).toEqual([
    { added: names, removed: [] },
    { added: [], removed: names },
  ]);
});

test("each session has its own toolkits", async () => {
  const { toolkit } = createProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit] });
  await host.configure("probe", { greeting: "mine" });
  const other = actionsOf(await host.connect());
  expect([await other.toolNames(), await other.stateOf("probe")]).toEqual([[], "available"]);
  await expect(other.call("probe__greet", { name: "x" })).rejects.toMatchObject({ code: "unknown_tool" });
});

test("closing a session stops its toolkits", async () => {
  const { toolkit, seen } = createProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit] });
  const client = await host.connect();
  await actionsOf(client).configure("probe");
  await client.disconnect();
  await vi.waitFor(() => expect(seen).toEqual({ started: 1, stopped: 1 }));
});

test("a toolkit that takes too long to start times out, and is stopped if it starts later", async () => {
  const probe = createProbe();
  let finish = () => {};
  const slow = {
    ...probe.toolkit,
    start: () =>
      new Promise((resolve) => {
        finish = () => resolve({ isOpen: true });
      }),
  };
  await using host = await startToolkits({ builtin: false, toolkits: [slow], start_timeout_ms: 20 });
  expect(await host.configure("probe")).toMatchObject({
    status: "partial",
    message: expect.stringContaining("0.02 s"),
  });
  finish();
  await vi.waitFor(() => expect(probe.seen.stopped).toBe(1));
});

test("a fork starts with the toolkits of its session, and both change independently", async () => {
  const { toolkit } = createProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit], client: { agentId: "lead" } });
  await host.configure("probe", { greeting: "before", token: "very-secret" });
  const { session_id } = await host.client.use(core).fork();
  const fork = actionsOf(await host.connect({ sessionId: session_id, agentId: "lead" }));

  expect(await fork.call("probe__greet", { name: "x" })).toEqual({ text: "before x", is_open: true });
  await fork.configure("probe", { greeting: "after" });

  expect(await host.call("probe__greet", { name: "x" })).toMatchObject({ text: "before x" });
  await host.client.use(core).merge({ session_id });
  expect(await host.call("probe__greet", { name: "x" })).toMatchObject({ text: "after x" });
});

test("restoring a snapshot restores the toolkits that ran, and removes later ones", async () => {
  const { toolkit } = createProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [toolkit] });
  await host.configure("probe", { greeting: "kept", token: "very-secret" });
  const { snapshot_id } = await host.client.use(core).snapshot();
  await host.kits.uninstall({ toolkit_name: "probe" });
  await host.kits.install({ toolkit_name: "probe", alias: "later", config: {} });

  await host.client.use(core).restore({ snapshot_id });

  expect(await host.call("probe__greet", { name: "x" })).toMatchObject({ text: "kept x" });
  expect((await host.toolNames()).filter((name) => name.startsWith("later"))).toEqual([]);
});

test("a toolkit whose `when` throws does not affect others", async () => {
  const moody = (name: string, when: (config: JsonObject) => boolean) =>
    defineToolkit({
      name,
      description: "Decides.",
      config: { type: "object", properties: { mode: { type: "string", default: "calm" } } },
      tools: { act: { description: "Acts.", input: { type: "object" }, when, run: () => null } },
    });
  let isMoody = true;
  const decide = ({ mode }: JsonObject) => {
    if (isMoody || mode === "wild") throw new Error("cannot decide");
    return true;
  };
  const { toolkit } = createProbe();
  await using host = await startToolkits({ builtin: false, toolkits: [moody("moody", decide), toolkit] });
  const moodyOne = async () => (await host.kits.list()).toolkits.find(({ name }) => name === "moody");

  const answer = await host.configure("moody");
  await host.configure("probe");

  expect(answer).toMatchObject({ status: "partial", error: expect.stringContaining("cannot decide") });
  expect(await moodyOne()).toMatchObject({
    state: "configured",
    tools: [],
    error: expect.stringContaining("cannot decide"),
  });
  expect(await host.stateOf("probe")).toBe("running");
  expect(await host.toolNames()).not.toContain("moody__act");

  isMoody = false;
  expect(await host.configure("moody")).toMatchObject({ status: "ok", toolkit: { error: "", tools: ["moody__act"] } });

  // A running toolkit keeps its tools, and one that should run again is listed with the reason.
  await expect(host.configure("moody", { mode: "wild" })).rejects.toMatchObject({ code: "toolkit_error" });
  expect(await host.toolNames()).toContain("moody__act");
  const { snapshot_id } = await host.client.use(core).snapshot();
  isMoody = true;
  await host.client.use(core).restore({ snapshot_id });
  expect(await moodyOne()).toMatchObject({
    state: "configured",
    tools: [],
    error: expect.stringContaining("cannot decide"),
  });
  expect(await host.stateOf("probe")).toBe("running");
});
