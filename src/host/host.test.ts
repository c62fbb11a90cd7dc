import { expect, test, vi } from "vitest";
import { createSqlJournal } from "../durability/journal/sql-journal-store.ts";
import { keepSessions } from "../durability/keep-sessions.ts";
import { type Plugin, plugin } from "../plugin/plugin.ts";
import { capability } from "../protocol/table/capability.ts";
import { createMemorySnapshotStore } from "../stores/snapshots/memory-snapshot-store.ts";
import { createSqliteDatabase } from "../stores/sqlite/sqlite-database.ts";
import { createCapturedLog } from "../testing/captured-log.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { watchResources } from "../testing/leaks.ts";
import { A2EHost } from "./host.ts";
import { createGate, echo, probe, probePlugin, side, sidePlugin, startRawHost } from "./session/raw-session.suite.ts";

function start(plugins: readonly Plugin[]) {
  return A2EHost.start({ plugins, keeping: keepSessions, snapshots: createMemorySnapshotStore() });
}

test("two plugins of one name are refused by name", async () => {
  await expect(start([probePlugin(), probePlugin()])).rejects.toThrow('"test"');
});

test("a second table for one capability is refused: it must be the same value, not a copy", async () => {
  const copy = plugin({ ...probe }, { session: probePlugin().session });
  const plugins = [probePlugin(), { plugin: copy, name: "copy" }];
  await expect(
    A2EHost.start({ plugins, keeping: keepSessions, snapshots: createMemorySnapshotStore() }),
  ).rejects.toThrow("second table");
});

test("two capabilities that claim one message type are refused", async () => {
  const clash = capability("memory", { doc: "Clashes.", calls: probe.calls });
  await expect(start([probePlugin(), plugin(clash, { session: probePlugin().session as never })])).rejects.toThrow(
    "declared twice",
  );
});

test.each(["skills", "Tools", "TEST", "subagents", "core"])(
  "a table under the name %j, by which nobody could ever reach it, is refused at the start",
  async (name) => {
    const misnamed = capability(name, { doc: "Misnamed.", calls: {} });
    await expect(start([plugin(misnamed, { session: () => ({ handlers: {} }) })])).rejects.toThrow(`"${name}"`);
  },
);

test.each(["throws", "rejects"])(
  "a plugin whose setup %s stops the start by name and closes those before it, last first",
  async (how) => {
    const closed: string[] = [];
    const fine = (name: string) => ({ name, plugin: { ...probePlugin(), close: () => void closed.push(name) } });
    const failing: Plugin = {
      ...probePlugin(),
      setup() {
        if (how === "throws") throw new Error("port is taken");
        return Promise.reject(new Error("port is taken"));
      },
      close: () => void closed.push("failing"),
    };
    const never = vi.fn();
    const plugins = [
      fine("one"),
      fine("two"),
      { name: "failing", plugin: failing },
      { name: "never", plugin: { ...probePlugin(), setup: never } },
    ];
    const starting = A2EHost.start({ plugins, keeping: keepSessions, snapshots: createMemorySnapshotStore() });
    await expect(starting).rejects.toThrow('plugin "failing" failed to start: port is taken');
    await expect(starting).rejects.toMatchObject({ cause: expect.objectContaining({ message: "port is taken" }) });
    expect(closed).toEqual(["two", "one"]);
    expect(never).not.toHaveBeenCalled();
  },
);

test("plugins are set up in their order, with their name and the folders of the host", async () => {
  const contexts: unknown[] = [];
  const looking: Plugin = {
    ...probePlugin(),
    setup: ({ name, dataDir, workspaceDir }) => void contexts.push({ name, dataDir, workspaceDir }),
  };
  await using _ = await A2EHost.start({
    plugins: [
      { plugin: looking, name: "first" },
      { plugin: looking, name: "second" },
    ],
    keeping: keepSessions,
    snapshots: createMemorySnapshotStore(),
    dataDir: "/data",
    workspaceDir: "/work",
  });
  expect(contexts).toEqual([
    { name: "first", dataDir: "/data", workspaceDir: "/work" },
    { name: "second", dataDir: "/data", workspaceDir: "/work" },
  ]);
});

test("a plugin that takes long to start is named in the log while it does", async () => {
  vi.useFakeTimers();
  try {
    const log = createCapturedLog();
    let finish = () => {};
    const setup = () => new Promise<void>((resolve) => (finish = resolve));
    const starting = A2EHost.start({
      plugins: [{ plugin: { ...probePlugin(), setup }, name: "sluggish" }],
      keeping: keepSessions,
      snapshots: createMemorySnapshotStore(),
      log,
    });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(log.entries).toMatchObject([{ message: "a plugin takes long to start", fields: { plugin: "sluggish" } }]);
    finish();
    await (await starting).close(0);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test("a host without plugins answers handshakes and pings", async () => {
  await using raw = await startRawHost([]);
  const peer = await raw.open({ agent_caps: ["streaming"] });
  await peer.settle();
  expect(raw.host.capabilities).toEqual([]);
});

test("its capabilities and its uptime are those of its plugins and its clock", async () => {
  const clock = createFakeClock();
  await using raw = await startRawHost([probePlugin(), sidePlugin()], { clock });
  clock.advance(2_500);
  expect(raw.host.capabilities).toEqual(["test", "env"]);
  expect(raw.host.uptimeSeconds).toBe(2.5);
});

test("closing lets calls finish within drainMs, then ends sessions, plugins and stores, in this order", async () => {
  const gate = createGate();
  const order: string[] = [];
  const closing: Plugin = {
    ...probePlugin(gate.run, echo, { close: () => void order.push("session") }),
    close: () => void order.push("plugin"),
  };
  const snapshots = { ...createMemorySnapshotStore(), close: async () => void order.push("snapshots") };
  const audit = { record() {}, close: async () => void order.push("audit") };
  const raw = await startRawHost([closing], { snapshots, audit, limits: { drainMs: 60_000 } });
  const peer = await raw.open();
  peer.request("1", "a");
  const closed = raw.host.close();
  expect(await peer.ask("2", "b")).toMatchObject({ code: "cancelled" });
  expect(order).toEqual([]);
  gate.release("a");
  await closed;
  peer.read();
  expect(peer.answers("1")).toMatchObject([{ value: "a" }]);
  expect(order).toEqual(["session", "plugin", "audit", "snapshots"]);
});

test("what does not finish within drainMs is cut off and named", async () => {
  const gate = createGate();
  const raw = await startRawHost([probePlugin(gate.run)], { limits: { drainMs: 5 } });
  const peer = await raw.open();
  peer.request("1", "a");
  await raw.host.close();
  peer.read();
  expect(peer.received.at(-1)).toMatchObject({
    type: "session/closed",
    reason: "host is shutting down",
    cut_off: ["1"],
  });
});

test("closing twice is closing once, and leaves no timer behind", async () => {
  const resources = watchResources();
  const close = vi.fn();
  const raw = await startRawHost([{ ...probePlugin(), close }]);
  const peer = await raw.open();
  await peer.ask("1");
  await Promise.all([raw.host.close(0), raw.host.close(0)]);
  await raw.host.close();
  expect(close).toHaveBeenCalledOnce();
  await resources.expectNothingLeft();
});

test("a second close with less time ends what the first would still wait for", async () => {
  const gate = createGate();
  const raw = await startRawHost([probePlugin(gate.run)]);
  const peer = await raw.open();
  peer.request("1", "a");
  const first = raw.host.close(3_600_000);
  await Promise.all([first, raw.host.close(7_200_000), raw.host.close(0)]);
  peer.read();
  expect(peer.answers("1")).toMatchObject([{ code: "cancelled" }]);
});

test("an agent that takes long to leave keeps no host from closing, and is told what was cut off", async () => {
  const gate = createGate();
  const database = await createSqliteDatabase({ path: ":memory:" });
  const raw = await startRawHost([probePlugin(gate.run)], { database, journal: createSqlJournal(database) });
  const peer = await raw.open();
  peer.request("1", "a");
  peer.send({ type: "shutdown", id: "long", timeout: 3600 });
  await raw.host.close(0);
  peer.read();
  expect(peer.received.at(-1)).toMatchObject({ type: "session/closed", reason: "shutdown", cut_off: ["1"] });
});

test("a plugin that throws when it closes is logged, and the rest is closed all the same", async () => {
  const close = vi.fn();
  const failing: Plugin = { ...probePlugin(), close: () => Promise.reject(new Error("stuck")) };
  const snapshots = { ...createMemorySnapshotStore(), close: () => Promise.reject(new Error("stuck too")) };
  const raw = await startRawHost([{ ...sidePlugin(), close }, failing], { snapshots });
  await raw.host.close(0);
  expect(close).toHaveBeenCalledOnce();
  expect(raw.log.entries.map(({ message }) => message)).toEqual([
    "a plugin could not close",
    "the snapshot store could not close",
  ]);
});

test("a plugin that never finishes closing is left behind", async () => {
  const raw = await startRawHost([{ ...probePlugin(), close: () => new Promise<void>(() => {}) }]);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const closed = raw.host.close(0);
    await vi.advanceTimersByTimeAsync(60_000);
    await closed;
  } finally {
    vi.useRealTimers();
  }
  expect(raw.log.entries).toContainEqual(expect.objectContaining({ message: "a plugin could not close" }));
});

test("tools that one plugin gives to the host are seen by sessions of another", async () => {
  const tool = {
    name: "shared",
    description: "",
    kind: "function",
    tags: [],
    version: "1",
    inputSchema: {},
    isIdempotent: true,
    isStreaming: false,
    isDeferred: false,
    source: "test",
    check: (value: object) => ({ value: value as never }),
    run: () => ({ data: null }),
  };
  let seen: string[] = [];
  const giving: Plugin = { ...probePlugin(), setup: ({ tools }) => void tools.add([tool]) };
  const looking = plugin(side, {
    session: ({ tools }) => {
      seen = tools.list().map(({ name }) => name);
      return { handlers: { run: echo } };
    },
  });
  await using raw = await startRawHost([giving, looking]);
  await raw.open();
  expect(seen).toEqual(["shared"]);
});
