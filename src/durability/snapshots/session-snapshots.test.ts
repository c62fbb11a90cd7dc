import { expect, test } from "vitest";
import type { HostOptions } from "../../host/host.ts";
import type { SnapshotMode, SnapshotStore } from "../../host/ports/snapshot-store.ts";
import {
  echo,
  probe,
  probePlugin,
  type RawHost,
  RawPeer,
  side,
  startRawHost,
} from "../../host/session/raw-session.suite.ts";
import { type Plugin, plugin, type SessionContext } from "../../plugin/plugin.ts";
import type { PluginEntry } from "../../plugin/plugin-set.ts";
import type { JsonObject, JsonValue } from "../../protocol/json.ts";
import { createMemorySnapshotStore } from "../../stores/snapshots/memory-snapshot-store.ts";

/** Counts its calls, per session: the smallest state worth saving. */
function counting<C extends typeof probe | typeof side>(table: C, stateVersion = 1): Plugin {
  return plugin(table, {
    stateVersion,
    session: ({ state }: SessionContext) => {
      const run = () => {
        const count = Number(state.get("count") ?? 0) + 1;
        state.set("count", count);
        return { value: `${count}` };
      };
      return { handlers: { run, other: run } };
    },
  } as never) as Plugin;
}

const both = () => [counting(probe), counting(side)];

/** A store in which the records of `isDamaged` cannot be read, and which can be used after its host was closed. */
function createFragileStore(): SnapshotStore & { isDamaged: (key: string, id: string | undefined) => boolean } {
  const inner = createMemorySnapshotStore();
  const store = {
    ...inner,
    isDamaged: (_key: string, _id: string | undefined) => false,
    async load(key: string, snapshotId?: string) {
      if (store.isDamaged(key, snapshotId)) throw new Error(`snapshot of ${key} is damaged`);
      return inner.load(key, snapshotId);
    },
    async close() {},
  };
  return store;
}

let asked = 0;
async function ask(peer: RawPeer, type: string, fields: object = {}) {
  const id = `ask-${asked++}`;
  peer.send({ type, id, ...fields });
  return peer.answer(id);
}
const count = async (peer: RawPeer) => (await ask(peer, "test/run/req")).value;
const countSide = async (peer: RawPeer) => (await ask(peer, "env/run/req")).value;
const save = (peer: RawPeer, label = "") => ask(peer, "session/snapshot/req", { label });
const restore = (peer: RawPeer, snapshot_id = "") => ask(peer, "session/restore/req", { snapshot_id });

function start(store: SnapshotStore, plugins: readonly (Plugin | PluginEntry)[], options: Partial<HostOptions> = {}) {
  return startRawHost(plugins, { snapshots: store, ...options });
}

const modes: SnapshotMode[] = ["host", "plugin", "hybrid"];

test.each(modes)(
  "in mode %s a session is restored from the newest snapshot, or from the named one",
  async (snapshotMode) => {
    await using raw = await start(createMemorySnapshotStore(), both(), { snapshotMode });
    const peer = await raw.open();
    await count(peer);
    const first = await save(peer, "first");
    expect(first).toMatchObject({ type: "session/snapshot/resp", capabilities: { test: "saved", env: "saved" } });
    await count(peer);
    await countSide(peer);
    await save(peer, "second");
    await count(peer);

    expect(await restore(peer)).toMatchObject({ capabilities: { test: "restored", env: "restored" } });
    expect([await count(peer), await countSide(peer)]).toEqual(["3", "2"]);
    expect(await restore(peer, first.snapshot_id as string)).toMatchObject({ snapshot_id: first.snapshot_id });
    expect([await count(peer), await countSide(peer)]).toEqual(["2", "1"]);
  },
);

test.each(modes)(
  "in mode %s a plugin that joined the session after a snapshot keeps its state when that snapshot is restored",
  async (snapshotMode) => {
    await using raw = await start(createMemorySnapshotStore(), both(), { snapshotMode });
    const peer = await raw.open({ agent_caps: ["test"] });
    const early = await save(peer);
    await peer.shakeHands({ agent_caps: ["env"] });
    await countSide(peer);
    await save(peer);
    await countSide(peer);
    expect(await restore(peer, early.snapshot_id as string)).toMatchObject({
      capabilities: { test: "restored", env: "stateless" },
    });
    expect(await countSide(peer)).toBe("3");
  },
);

test("snapshots are listed newest first, with their labels", async () => {
  await using raw = await start(createMemorySnapshotStore(), both());
  const peer = await raw.open();
  await save(peer, "one");
  await save(peer, "two");
  expect(await ask(peer, "session/snapshots/req")).toMatchObject({ snapshots: [{ label: "two" }, { label: "one" }] });
  expect(await raw.host.sessions.listSnapshots(peer.session.id)).toHaveLength(2);
});

test("a capability without state is reported as stateless by a snapshot and by a restore", async () => {
  await using raw = await start(createMemorySnapshotStore(), [probePlugin()]);
  const peer = await raw.open();
  expect(await save(peer)).toMatchObject({ capabilities: { test: "stateless" } });
  expect(await restore(peer)).toMatchObject({ capabilities: { test: "stateless" } });
});

test.each(["", "0000000099", "../../etc/passwd", "__proto__"])(
  "restoring the snapshot %j, which does not exist, is answered with an error that says so",
  async (id) => {
    await using raw = await start(createMemorySnapshotStore(), both());
    const peer = await raw.open();
    expect(await restore(peer, id)).toMatchObject({
      code: "runtime_error",
      message: expect.stringContaining("no snapshot"),
    });
  },
);

/** Asks for its state only when it is called; until then it has none. */
const lazy = plugin(probe, {
  session: (context) => {
    const run = ({ name }: { name: string }) => {
      if (name !== "") context.state.set("kept", name);
      return { value: String(context.state.get("kept") ?? "nothing") };
    };
    return { handlers: { run, other: run } };
  },
});

test.each(modes)(
  "in mode %s a restore deletes state of a plugin that had none when the snapshot was taken",
  async (snapshotMode) => {
    await using raw = await start(createMemorySnapshotStore(), [lazy], { snapshotMode });
    const peer = await raw.open();
    const { snapshot_id } = await save(peer);
    await ask(peer, "test/run/req", { name: "later" });
    expect(await restore(peer, snapshot_id as string)).toMatchObject({ capabilities: { test: "restored" } });
    expect(await ask(peer, "test/run/req", { name: "" })).toMatchObject({ value: "nothing" });
  },
);

test.each(modes)(
  "in mode %s a restored session has the state of a plugin that asks for its state only when it is called",
  async (snapshotMode) => {
    await using raw = await start(createMemorySnapshotStore(), [lazy], { snapshotMode });
    const peer = await raw.open();
    await ask(peer, "test/run/req", { name: "kept" });
    await save(peer);
    await peer.session.close();
    const again = new RawPeer((await raw.host.sessions.restore(peer.session.id)) as never);
    await again.shakeHands();
    expect(await ask(again, "test/run/req", { name: "" })).toMatchObject({ value: "kept" });
  },
);

test("one session cannot restore the snapshot of another", async () => {
  await using raw = await start(createMemorySnapshotStore(), both());
  const [one, other] = [await raw.open(), await raw.open()];
  const { snapshot_id } = await save(one);
  expect(await restore(other, snapshot_id as string)).toMatchObject({ code: "runtime_error" });
});

/** Saves a session on one host, and starts another host on the same store. */
async function crashAndRestart(
  store: SnapshotStore,
  {
    before = both(),
    after = both(),
    options = {},
  }: { before?: Plugin[]; after?: Plugin[]; options?: Partial<HostOptions> },
): Promise<{ raw: RawHost; sessionId: string; restoreSession(): Promise<RawPeer> }> {
  const first = await start(store, before, options);
  const peer = await first.open();
  for (let calls = 0; calls < 3; calls++) await count(peer);
  await countSide(peer);
  await save(peer);
  await first.host.close(0);
  const raw = await start(store, after, options);
  const sessionId = peer.session.id;
  return {
    raw,
    sessionId,
    async restoreSession() {
      const session = await raw.host.sessions.restore(sessionId);
      if (session === undefined) throw new Error("nothing was saved");
      return new RawPeer(session);
    },
  };
}

test.each(modes)(
  "in mode %s a session is restored in the next host under its id and with its state",
  async (snapshotMode) => {
    const { raw, sessionId, restoreSession } = await crashAndRestart(createFragileStore(), {
      options: { snapshotMode },
    });
    await using _ = raw;
    const peer = await restoreSession();
    expect(peer.session.id).toBe(sessionId);
    expect(await ask(peer, "test/run/req")).toMatchObject({ code: "unauthorized" });
    expect(await peer.shakeHands()).toMatchObject({ ok: true, session_id: sessionId });
    expect([await count(peer), await countSide(peer)]).toEqual(["4", "2"]);
  },
);

test("a session without a snapshot is not restored, and a live session is returned as it is", async () => {
  await using raw = await start(createMemorySnapshotStore(), both());
  expect(await raw.host.sessions.restore("nobody")).toBeUndefined();
  const peer = await raw.open();
  expect(await raw.host.sessions.restore(peer.session.id)).toBe(peer.session);
});

test("two calls that restore a session at the same time get the same session", async () => {
  const { raw, sessionId } = await crashAndRestart(createFragileStore(), {});
  await using _ = raw;
  const { sessions } = raw.host;
  const [one, other] = await Promise.all([sessions.restore(sessionId), sessions.restore(sessionId)]);
  expect(one).toBe(other);
  expect(sessions.size).toBe(1);
});

test("a restored session refuses the handshake of another principal and reveals nothing", async () => {
  const { raw, restoreSession } = await crashAndRestart(createFragileStore(), {});
  await using _ = raw;
  const peer = await restoreSession();
  expect(await peer.shakeHands({ agent_id: "thief" })).toMatchObject({
    ok: false,
    reason: "auth_failed",
    accepted_caps: [],
  });
  expect(await ask(peer, "test/run/req")).toMatchObject({ code: "unauthorized" });
  expect(await peer.shakeHands()).toMatchObject({ ok: true });
  expect(await count(peer)).toBe("4");
});

test("if no handshake is required, a restored session still opens only for its owner", async () => {
  const { raw, restoreSession } = await crashAndRestart(createFragileStore(), {
    options: { isHandshakeRequired: false },
  });
  await using _ = raw;
  const peer = await restoreSession();
  expect(await ask(peer, "test/run/req")).toMatchObject({ code: "unauthorized" });
});

test("a snapshot with another state version of one plugin is refused, and no plugin is restored", async () => {
  const store = createFragileStore();
  const { raw, restoreSession } = await crashAndRestart(store, { after: [counting(probe), counting(side, 2)] });
  await using _ = raw;
  const peer = await restoreSession();
  expect(await peer.shakeHands()).toMatchObject({ ok: false, reason: "server_error" });
  expect(JSON.stringify(raw.log.entries.map(({ fields }) => String(fields.error)))).toContain("state version 2");

  const fresh = await raw.open();
  await count(fresh);
  await save(fresh);
  await count(fresh);
  const record = (await store.load(fresh.session.id))?.state as { plugins: Record<string, { version: number }> };
  Object.assign(record.plugins.env as object, { version: 1 });
  await store.save(fresh.session.id, record, { label: "", created_at: 1 });
  expect(await restore(fresh)).toMatchObject({
    code: "runtime_error",
    message: expect.stringContaining("state version 2"),
  });
  expect(await count(fresh)).toBe("3");
});

test("a snapshot of another format is refused", async () => {
  const store = createFragileStore();
  await using raw = await start(store, both());
  const peer = await raw.open();
  for (const foreign of [{ format: 99 }, null, "text", []]) {
    await store.save(peer.session.id, foreign as JsonValue, { label: "", created_at: 1 });
    expect(await restore(peer)).toMatchObject({ code: "runtime_error", message: expect.stringContaining("format") });
  }
});

test("in mode hybrid a session with a damaged record is restored from the records of its plugins", async () => {
  const store = createFragileStore();
  const { raw, sessionId, restoreSession } = await crashAndRestart(store, { options: { snapshotMode: "hybrid" } });
  await using _ = raw;
  store.isDamaged = (key) => key === sessionId;
  const peer = await restoreSession();
  expect(await peer.shakeHands({ agent_id: "thief" })).toMatchObject({ ok: false });
  expect(await peer.shakeHands()).toMatchObject({ ok: true });
  expect([await count(peer), await countSide(peer)]).toEqual(["4", "2"]);
});

test("in mode hybrid the records of the plugins are taken from the same snapshot as the damaged record", async () => {
  const store = createFragileStore();
  let now = 1_000;
  await using raw = await start(store, both(), { snapshotMode: "hybrid", clock: { now: () => now } });
  const peer = await raw.open();
  await count(peer);
  const first = await save(peer);
  now += 1_000;
  await count(peer);
  await save(peer);
  store.isDamaged = (key) => key === peer.session.id;
  expect(await restore(peer, first.snapshot_id as string)).toMatchObject({
    snapshot_id: first.snapshot_id,
    capabilities: { test: "restored", env: "restored" },
  });
  expect(await count(peer)).toBe("2");
});

test.each(["plugin", "hybrid"] as const)(
  "in mode %s a damaged record of one plugin is reported, and the other plugins are restored",
  async (snapshotMode) => {
    const store = createFragileStore();
    await using raw = await start(store, both(), { snapshotMode });
    const peer = await raw.open();
    await count(peer);
    await countSide(peer);
    await save(peer);
    await count(peer);
    await countSide(peer);
    const isRecordOf = (name: string) => (key: string) => key.includes(`"${name}"`);
    store.isDamaged = (key) => isRecordOf("env")(key) || (snapshotMode === "hybrid" && key === peer.session.id);
    const answer = await restore(peer);
    expect(answer).toMatchObject({ capabilities: { test: "restored", env: "damaged" } });
    expect([await count(peer), await countSide(peer)]).toEqual(["2", "3"]);
  },
);

test("in mode host a damaged record is answered with an error, and the session keeps its state", async () => {
  const store = createFragileStore();
  await using raw = await start(store, both(), { snapshotMode: "host" });
  const peer = await raw.open();
  await save(peer);
  await count(peer);
  store.isDamaged = () => true;
  expect(await restore(peer)).toMatchObject({ type: "error", code: "internal_error" });
  expect(await count(peer)).toBe("2");
});

test("a live value that throws fails the snapshot, and nothing is saved", async () => {
  const failing = plugin(probe, {
    session: ({ state }) => {
      state.setLive("count", () => {
        throw new Error("cannot");
      });
      return { handlers: { run: echo, other: echo } };
    },
  });
  await using raw = await start(createMemorySnapshotStore(), [failing]);
  const peer = await raw.open();
  expect(await save(peer)).toMatchObject({ code: "internal_error" });
  expect(await raw.host.sessions.listSnapshots(peer.session.id)).toEqual([]);
});

/** Adds what an earlier version saved for plugins that had a `snapshot()` function. */
async function addOwnState(store: SnapshotStore, sessionId: string, plugin: string, own: JsonValue): Promise<void> {
  const record = (await store.load(sessionId))?.state as { plugins: Record<string, { state: JsonObject }> };
  Object.assign(record.plugins[plugin]?.state as object, { own });
  await store.save(sessionId, record as unknown as JsonObject, { label: "", created_at: 1 });
}

test.each([{ count: 7 }, null])(
  "a snapshot in which a plugin has state from its former snapshot() function, such as %j, is refused by name",
  async (own) => {
    const store = createFragileStore();
    await using raw = await start(store, both());
    const peer = await raw.open();
    await count(peer);
    await countSide(peer);
    await save(peer);
    await addOwnState(store, peer.session.id, "env", own);
    await count(peer);
    expect(await restore(peer)).toMatchObject({
      code: "runtime_error",
      message: expect.stringMatching(/plugin "env".*snapshot\(\).*context\.state/),
      retryable: false,
    });
    expect([await count(peer), await countSide(peer)]).toEqual(["3", "2"]);
  },
);

test("a session that is restored without a plugin that cannot read its state is restored for the others", async () => {
  const store = createFragileStore();
  const { raw, sessionId, restoreSession } = await crashAndRestart(store, {});
  await using _ = raw;
  await addOwnState(store, sessionId, "env", 7);
  const peer = await restoreSession();
  expect(await peer.shakeHands()).toMatchObject({ ok: false, reason: "server_error" });
  expect(JSON.stringify(raw.log.entries.map(({ fields }) => String(fields.error)))).toContain("context.state");
  await peer.session.close();
  const other = await restoreSession();
  expect(await other.shakeHands({ agent_caps: ["test"] })).toMatchObject({ ok: true });
  expect(await count(other)).toBe("4");
});

test("a snapshot as earlier versions wrote it for a plugin that keeps its state with the host is restored", async () => {
  const store = createFragileStore();
  await using raw = await start(store, both());
  const peer = await raw.open();
  const { snapshot_id } = await store.save(
    peer.session.id,
    {
      format: 2,
      principal_id: "agent",
      granted: ["test", "env"],
      plugins: { test: { version: 1, state: { entries: { count: 41 } } } },
      records: {},
    },
    { label: "", created_at: 1 },
  );
  expect(await restore(peer, snapshot_id)).toMatchObject({ capabilities: { test: "restored", env: "restored" } });
  expect([await count(peer), await countSide(peer)]).toEqual(["42", "1"]);
});

test("two plugins of one capability are saved and restored each by its own name", async () => {
  await using raw = await start(createMemorySnapshotStore(), [
    { plugin: counting(probe), name: "one" },
    { plugin: counting(probe), name: "two" },
  ]);
  const peer = await raw.open();
  await count(peer);
  await save(peer);
  await count(peer);
  expect(await restore(peer)).toMatchObject({ capabilities: { test: "restored" } });
  expect(await count(peer)).toBe("2");
});

test.each(modes)("in mode %s a snapshot is of one moment, though the store takes its time", async (snapshotMode) => {
  let go = () => {};
  const mayGo = new Promise<void>((resolve) => {
    go = resolve;
  });
  const inner = createMemorySnapshotStore();
  const save: SnapshotStore["save"] = (...args) => mayGo.then(() => inner.save(...args));
  await using raw = await start({ ...inner, save }, both(), { snapshotMode });
  const peer = await raw.open();
  await Promise.all([count(peer), countSide(peer)]);
  const saving = ask(peer, "session/snapshot/req");
  expect(await Promise.all([count(peer), countSide(peer)])).toEqual(["2", "2"]);
  go();
  const { snapshot_id } = await saving;

  await restore(peer, snapshot_id as string);
  expect(await Promise.all([count(peer), countSide(peer)])).toEqual(["2", "2"]);
});
