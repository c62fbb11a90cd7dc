import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { A2EHost, type HostOptions } from "../../host/host.ts";
import { RawPeer } from "../../host/session/raw-session.suite.ts";
import type { Session } from "../../host/session.ts";
import { plugin, type SessionPart } from "../../plugin/plugin.ts";
import type { Message } from "../../protocol/envelope.ts";
import { call, capability } from "../../protocol/table/capability.ts";
import { createMemorySnapshotStore } from "../../stores/snapshots/memory-snapshot-store.ts";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { keepSessions } from "../keep-sessions.ts";
import type { JournalPlace } from "./journal-places.suite.ts";

const value = z.object({ value: z.int() });
const counter = capability("counter", {
  doc: "Counts.",
  calls: {
    add: call("counter/add/req", "counter/add/resp", {
      about: { access: "write" },
      doc: "Adds.",
      request: z.object({ by: z.int().default(1), key: z.string().default("count") }),
      result: value,
      example: { request: {}, result: { value: 1 } },
    }),
    drop: call("counter/drop/req", "counter/drop/resp", {
      about: { access: "write" },
      doc: "Forgets a key.",
      request: z.object({ key: z.string() }),
      result: z.object({}),
      example: { request: { key: "count" }, result: {} },
    }),
  },
});

/** Keeps everything in the session's state, as a plugin should. */
const counterPlugin = plugin(counter, {
  session: ({ state }) => ({
    handlers: {
      add({ by, key }) {
        const next = ((state.get(key) as number | undefined) ?? 0) + by;
        state.set(key, next);
        return { value: next };
      },
      drop({ key }) {
        state.delete(key);
        return {};
      },
    },
  }),
});

/** Keeps its count in a variable and reports it as a live value, which the host reads when it writes the session. */
const liveCounterPlugin = plugin(counter, {
  session: ({ state }) => {
    let count = Number(state.get("count") ?? 0);
    return {
      handlers: {
        add({ by }) {
          count += by;
          state.setLive("count", () => count);
          return { value: count };
        },
        drop: () => ({}),
      },
    };
  },
});

let requests = 0;

function ask(peer: RawPeer, fields: { type: string; id?: string; [field: string]: unknown }): Promise<Message> {
  requests += 1;
  const message = { id: `request-${requests}`, version: "1.0", a2e: "1.0", ...fields };
  peer.send(message);
  return peer.answer(message.id);
}

async function shakeHands(session: Session): Promise<RawPeer> {
  const peer = new RawPeer(session);
  await ask(peer, { type: "handshake/req", agent_id: "a", agent_caps: ["counter"] });
  return peer;
}

/** What must be true of sessions on a host with a journal, wherever it lies. */
export function testDurableSessions(createPlace: () => Promise<JournalPlace>): void {
  let place: JournalPlace;
  let copies: JournalPlace[];
  beforeEach(async () => {
    place = await createPlace();
    copies = [];
  });
  afterEach(async () => {
    for (const each of [place, ...copies]) await each.remove();
  });

  async function start(which = counterPlugin, options: Partial<HostOptions> = {}, at = place): Promise<A2EHost> {
    const snapshots = createMemorySnapshotStore();
    return A2EHost.start({ plugins: [which], keeping: keepSessions, snapshots, ...(await at.open()), ...options });
  }

  async function copy(original: JournalPlace): Promise<JournalPlace> {
    const made = await original.copy();
    copies.push(made);
    return made;
  }

  test.each([
    ["that sets its values", counterPlugin],
    ["with a live value", liveCounterPlugin],
  ])("a session of a plugin %s goes on after a restart of the host, without a new handshake", async (_, which) => {
    const first = await start(which);
    const { id } = first.sessions.create();
    const peer = await shakeHands(first.sessions.get(id) as Session);
    expect(await ask(peer, { type: "counter/add/req", by: 5 })).toMatchObject({ value: 5 });
    await first.close(0);

    const second = await start(which);
    const again = new RawPeer((await second.sessions.find(id)) as Session);
    expect(await ask(again, { type: "counter/add/req", by: 2 })).toMatchObject({ value: 7 });
    await second.close(0);
  });

  test("all who ask for a session while it is recovered get the same one, and its requests run in order", async () => {
    const first = await start();
    const { id } = first.sessions.create();
    await shakeHands(first.sessions.get(id) as Session);
    await first.close(0);

    const second = await start();
    const found: unknown[] = [];
    const send = async (name: string) => {
      const session = (await second.sessions.find(id)) as Session;
      found.push(session);
      session.receiveLine(JSON.stringify({ type: "counter/add/req", id: name, version: "1.0" }));
    };
    await Promise.all(["one", "two", "three"].map(send));
    expect(new Set(found).size).toBe(1);
    const peer = new RawPeer(found[0] as Session);
    const answers = [await peer.answer("one"), await peer.answer("two"), await peer.answer("three")];
    expect(answers).toMatchObject([{ value: 1 }, { value: 2 }, { value: 3 }]);
    await second.close(0);
  });

  test("a request that was answered before the restart is answered again and not run again", async () => {
    const first = await start();
    const { id } = first.sessions.create();
    const peer = await shakeHands(first.sessions.get(id) as Session);
    const answer = await ask(peer, { type: "counter/add/req", id: "the-one" });
    await first.close(0);

    const second = await start();
    const again = new RawPeer((await second.sessions.find(id)) as Session);
    expect(await ask(again, { type: "counter/add/req", id: "the-one" })).toEqual(answer);
    expect(await ask(again, { type: "counter/add/req" })).toMatchObject({ value: 2 });
    await second.close(0);
  });

  test("a request that found no room may come again under its id, also after a restart", async () => {
    const waitingPlugin = plugin(counter, {
      session: () => ({
        handlers: {
          add: ({ by }, { signal }) =>
            by > 0
              ? { value: by }
              : new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
          drop: () => ({}),
        },
      }),
    });
    const first = await start(waitingPlugin, { limits: { maxParallelCalls: 1, maxQueuedCalls: 0 } });
    const { id } = first.sessions.create();
    const peer = await shakeHands(first.sessions.get(id) as Session);
    peer.send({ type: "counter/add/req", id: "waiting", version: "1.0", by: 0 });
    const request = { type: "counter/add/req", id: "refused", by: 3 };
    expect(await ask(peer, request)).toMatchObject({ code: "rate_limited" });
    await first.close(0);

    const second = await start(waitingPlugin);
    const again = new RawPeer((await second.sessions.find(id)) as Session);
    again.send({ version: "1.0", ...request });
    // The refusal is sent once more, because its line was not acknowledged.
    await again.until(() => again.answers("refused").length > 1);
    expect(again.answers("refused").at(-1)).toMatchObject({ value: 3 });
    await second.close(0);
  });

  test("lines keep their numbers over a restart, and a reader gets just those it has not had", async () => {
    const first = await start();
    const { id } = first.sessions.create();
    const session = first.sessions.get(id) as Session;
    const peer = await shakeHands(session);
    await ask(peer, { type: "counter/add/req" });
    const seen = session.lastSeq;
    await ask(peer, { type: "counter/add/req", id: "unread" });
    await first.close(0);

    const second = await start();
    const reader = ((await second.sessions.find(id)) as Session).attach(seen, () => {});
    const lines = reader.read(1_000_000);
    expect(lines[0]).toMatchObject({ seq: seen + 1 });
    expect(JSON.parse(lines[0]?.line ?? "{}")).toMatchObject({ req_id: "unread", value: 2 });
    reader.close();
    await second.close(0);
  });

  test("nothing leaves before it is written", async () => {
    const host = await start();
    const session = host.sessions.create();
    const peer = await shakeHands(session);
    const before = peer.received.length;
    session.receiveLine(JSON.stringify({ type: "counter/add/req", id: "x" }));
    peer.read();
    expect(peer.received.length).toBe(before);
    await peer.answer("x");
    await host.close(0);
  });

  test("a session that its agent ended is gone from the database", async () => {
    const first = await start();
    const session = first.sessions.create();
    const peer = await shakeHands(session);
    await ask(peer, { type: "counter/add/req" });
    await first.sessions.delete(session.id);
    await first.close(0);

    const second = await start();
    expect(await second.sessions.find(session.id)).toBeUndefined();
    await second.close(0);
  });

  test("a fork sees what was there, and neither side sees what the other does afterwards, also after a restart", async () => {
    const first = await start();
    const parent = first.sessions.create();
    const peer = await shakeHands(parent);
    await ask(peer, { type: "counter/add/req", by: 10 });
    await ask(peer, { type: "counter/add/req", by: 1, key: "gone" });
    const forked = await ask(peer, { type: "session/fork/req" });
    expect(forked).toMatchObject({ capabilities: { counter: "copied" } });
    const forkId = String(forked.session_id);
    const other = new RawPeer(first.sessions.get(forkId) as Session);
    expect(await ask(other, { type: "counter/add/req", by: 5 })).toMatchObject({ value: 15 });
    await ask(other, { type: "counter/drop/req", key: "gone" });
    expect(await ask(peer, { type: "counter/add/req", by: 1 })).toMatchObject({ value: 11 });
    await first.close(0);

    const second = await start();
    const parentAgain = new RawPeer((await second.sessions.find(parent.id)) as Session);
    const forkAgain = new RawPeer((await second.sessions.find(forkId)) as Session);
    expect(await ask(parentAgain, { type: "counter/add/req", by: 0 })).toMatchObject({ value: 11 });
    expect(await ask(parentAgain, { type: "counter/add/req", by: 0, key: "gone" })).toMatchObject({ value: 1 });
    expect(await ask(forkAgain, { type: "counter/add/req", by: 0 })).toMatchObject({ value: 15 });
    expect(await ask(forkAgain, { type: "counter/add/req", by: 0, key: "gone" })).toMatchObject({ value: 0 });
    // The parent goes, and what the fork stands on stays.
    await second.sessions.delete(parent.id);
    await second.close(0);

    const third = await start();
    const last = new RawPeer((await third.sessions.find(forkId)) as Session);
    expect(await ask(last, { type: "counter/add/req", by: 0 })).toMatchObject({ value: 15 });
    await third.close(0);
  });

  test("a value that was answered while a session was forked is there after a restart, also a live one", async () => {
    const first = await start(liveCounterPlugin);
    const { id } = first.sessions.create();
    const peer = await shakeHands(first.sessions.get(id) as Session);
    const forking = ask(peer, { type: "session/fork/req" });
    expect(await ask(peer, { type: "counter/add/req", by: 5 })).toMatchObject({ value: 5 });
    await forking;
    await first.close(0);

    const second = await start(liveCounterPlugin);
    const again = new RawPeer((await second.sessions.find(id)) as Session);
    expect(await ask(again, { type: "counter/add/req", by: 0 })).toMatchObject({ value: 5 });
    await second.close(0);
  });

  test.each([0, 1, 2, 3])(
    "a fork is the same after a restart, though its parent changed as it was made: turn %i",
    async (turns) => {
      const slowCounterPlugin = plugin(counter, {
        session: ({ state }) => ({
          handlers: {
            async add({ by, key }) {
              for (let turn = 0; turn < turns * by; turn++) await undefined;
              const next = ((state.get(key) as number | undefined) ?? 0) + by;
              if (by > 0) state.set(key, next);
              return { value: next };
            },
            drop: () => ({}),
          },
        }),
      });
      const first = await start(slowCounterPlugin);
      const peer = await shakeHands(first.sessions.create());
      const forking = ask(peer, { type: "session/fork/req" });
      await ask(peer, { type: "counter/add/req", by: 1 });
      const forkId = String((await forking).session_id);
      const fork = new RawPeer(first.sessions.get(forkId) as Session);
      const { value: found } = await ask(fork, { type: "counter/add/req", by: 0 });
      await first.close(0);

      const second = await start(slowCounterPlugin);
      const again = new RawPeer((await second.sessions.find(forkId)) as Session);
      expect(await ask(again, { type: "counter/add/req", by: 0 })).toMatchObject({ value: found });
      await second.close(0);
    },
  );

  test("a fork in which nothing is left is still its agent's, also after a restart", async () => {
    const refusing = plugin(counter, { forking: "refused", session: counterPlugin.session });
    const first = await start(refusing);
    const peer = await shakeHands(first.sessions.create());
    const forked = await ask(peer, { type: "session/fork/req" });
    expect(forked).toMatchObject({ capabilities: { counter: "refused" } });
    const forkId = String(forked.session_id);
    const handshake = { type: "handshake/req", agent_caps: ["counter"] };
    const refused = { ok: false, reason: "auth_failed" };
    const fork = new RawPeer(first.sessions.get(forkId) as Session);
    expect(await ask(fork, { ...handshake, agent_id: "b" })).toMatchObject(refused);
    await first.close(0);

    const second = await start(refusing);
    const again = new RawPeer((await second.sessions.find(forkId)) as Session);
    expect(await ask(again, { ...handshake, agent_id: "b" })).toMatchObject(refused);
    expect(await ask(again, { type: "counter/add/req" })).toMatchObject({ code: "capability_missing" });
    expect(await ask(again, { ...handshake, agent_id: "a" })).toMatchObject({ ok: true });
    expect(await ask(again, { type: "counter/add/req" })).toMatchObject({ value: 1 });
    await second.close(0);
  });

  test("a session that nobody can come back to ends with the host", async () => {
    const first = await start();
    const session = first.sessions.create({ isTransient: true });
    const peer = await shakeHands(session);
    await ask(peer, { type: "counter/add/req" });
    await first.close(0);
    peer.read();
    expect(peer.received.at(-1)).toMatchObject({ type: "session/closed" });

    const second = await start();
    expect(await second.sessions.find(session.id)).toBeUndefined();
    await second.close(0);
  });

  test("a stored session whose agent never came back is gone once it has reached the maximum age", async () => {
    const first = await start();
    const session = first.sessions.create();
    await shakeHands(session);
    await first.close(0);

    const soon = await start();
    expect(await soon.sessions.find(session.id)).toBeDefined();
    await soon.close(0);
    const late = await start(counterPlugin, { clock: { now: () => Date.now() + 25 * 60 * 60_000 } });
    expect(await late.sessions.find(session.id)).toBeUndefined();
    await late.close(0);
  });

  test("what the host saved on its own of such a session goes with it, and what its agent saved stays", async () => {
    const snapshots = { ...createMemorySnapshotStore(), async close() {} };
    const first = await start(counterPlugin, { snapshots, snapshotSchedule: { everyMs: 0, onDrain: true, keep: 2 } });
    const session = first.sessions.create();
    const peer = await shakeHands(session);
    await ask(peer, { type: "counter/add/req" });
    await ask(peer, { type: "session/snapshot/req", label: "mine" });
    await first.close(1_000);
    expect((await snapshots.list(session.id)).map(({ label }) => label).sort()).toEqual(["auto:drain", "mine"]);

    const late = await start(counterPlugin, { snapshots, clock: { now: () => Date.now() + 25 * 60 * 60_000 } });
    await late.close(0);
    expect((await snapshots.list(session.id)).map(({ label }) => label)).toEqual(["mine"]);
  });

  test("a fork that was forked itself still merges all it changed after a restart", async () => {
    const first = await start();
    const parent = first.sessions.create();
    const peer = await shakeHands(parent);
    const { session_id } = await ask(peer, { type: "session/fork/req" });
    const fork = new RawPeer(first.sessions.get(String(session_id)) as Session);
    await ask(fork, { type: "counter/add/req", by: 1, key: "early" });
    await ask(fork, { type: "session/fork/req" });
    await ask(fork, { type: "counter/add/req", by: 2, key: "late" });
    await first.close(0);

    const second = await start();
    const again = new RawPeer((await second.sessions.find(parent.id)) as Session);
    expect(await ask(again, { type: "session/merge/req", session_id: String(session_id) })).toMatchObject({
      capabilities: { counter: { merged: 2, conflicts: [] } },
    });
    expect(await ask(again, { type: "counter/add/req", by: 0, key: "early" })).toMatchObject({ value: 1 });
    await second.close(0);
  });

  test("merging takes over what only the fork changed and reports what both did", async () => {
    const host = await start();
    const parent = host.sessions.create();
    const peer = await shakeHands(parent);
    await ask(peer, { type: "counter/add/req", by: 1, key: "both" });
    const { session_id } = await ask(peer, { type: "session/fork/req" });
    const fork = new RawPeer(host.sessions.get(String(session_id)) as Session);
    await ask(fork, { type: "counter/add/req", by: 2, key: "both" });
    await ask(fork, { type: "counter/add/req", by: 3, key: "fork" });
    await ask(peer, { type: "counter/add/req", by: 4, key: "both" });

    const merged = await ask(peer, { type: "session/merge/req", session_id: String(session_id) });

    expect(merged).toMatchObject({ capabilities: { counter: { merged: 1, conflicts: ["both"] } } });
    expect(await ask(peer, { type: "counter/add/req", by: 0, key: "fork" })).toMatchObject({ value: 3 });
    expect(await ask(peer, { type: "counter/add/req", by: 0, key: "both" })).toMatchObject({ value: 5 });
    const stranger = await shakeHands(host.sessions.create());
    expect(await ask(stranger, { type: "session/merge/req", session_id: String(session_id) })).toMatchObject({
      type: "error",
    });
    await host.close(0);
  });

  /** The counter, which may be told to fail as it opens. */
  function createFragile(): { plugin: typeof counterPlugin; isBroken: boolean } {
    const fragile = {
      isBroken: false,
      plugin: plugin(counter, {
        session(context) {
          if (fragile.isBroken) throw new Error("not now");
          return counterPlugin.session(context);
        },
      }),
    };
    return fragile;
  }

  test("a session whose plugin fails as it is taken up again is still its agent's, and nobody else's", async () => {
    const fragile = createFragile();
    const first = await start(fragile.plugin);
    const session = first.sessions.create();
    const peer = await shakeHands(session);
    await ask(peer, { type: "counter/add/req", by: 5 });
    await first.close(0);

    const second = await start(fragile.plugin);
    fragile.isBroken = true;
    const again = new RawPeer((await second.sessions.find(session.id)) as Session);
    fragile.isBroken = false;
    const handshake = { type: "handshake/req", agent_caps: ["counter"] };
    expect(await ask(again, { ...handshake, agent_id: "b" })).toMatchObject({ ok: false, reason: "auth_failed" });
    expect(await ask(again, { type: "counter/add/req" })).toMatchObject({ code: "unauthorized" });
    expect(await ask(again, { ...handshake, agent_id: "a" })).toMatchObject({ ok: true });
    expect(await ask(again, { type: "counter/add/req", by: 2 })).toMatchObject({ value: 7 });
    await second.close(0);
  });

  test("a session whose plugins are still opening survives a crash: a fork, and one that is taken up again", async () => {
    let opening = Promise.resolve();
    const late = plugin(counter, {
      session: async (context) => {
        await opening;
        return counterPlugin.session(context);
      },
    });
    const first = await start(late);
    const parent = first.sessions.create();
    const peer = await shakeHands(parent);
    await ask(peer, { type: "counter/add/req", by: 5 });
    let open = () => {};
    opening = new Promise((resolve) => (open = resolve));
    const ids = [parent.id, String((await ask(peer, { type: "session/fork/req" })).session_id)];

    const second = await start(late, {}, await copy(place));
    for (const id of ids) {
      const again = new RawPeer((await second.sessions.find(id)) as Session);
      // The answer is written while the plugin opens.
      expect(await ask(again, { type: "ping" })).toMatchObject({ type: "pong" });
    }
    const third = await start(late, {}, await copy(copies[0] as JournalPlace));
    open();
    for (const id of ids) {
      const last = new RawPeer((await third.sessions.find(id)) as Session);
      expect(await ask(last, { type: "counter/add/req", by: 1 })).toMatchObject({ value: 6 });
    }
    for (const host of [first, second, third]) await host.close(0);
  });

  test("a session that is still being taken up again is saved and put back whole", async () => {
    const late = plugin(counter, {
      session: async (context) => {
        await new Promise((resolve) => setImmediate(resolve));
        return counterPlugin.session(context);
      },
    });
    const snapshots = { ...createMemorySnapshotStore(), close: async () => {} };
    const first = await start(late, { snapshots });
    const { id } = first.sessions.create();
    const peer = await shakeHands(first.sessions.get(id) as Session);
    await ask(peer, { type: "counter/add/req", by: 5 });
    await first.close(0);

    const second = await start(late, { snapshots });
    const session = await second.sessions.find(id);
    expect(await session?.saveSnapshot()).toMatchObject({ capabilities: { counter: "saved" } });
    expect(await snapshots.load(id)).toMatchObject({ state: { granted: ["counter"] } });
    await ask(new RawPeer((await second.sessions.find(id)) as Session), { type: "counter/add/req", by: 5 });
    await second.close(0);

    const third = await start(late, { snapshots });
    const restored = await (await third.sessions.find(id))?.restoreSnapshot();
    expect(restored).toMatchObject({ capabilities: { counter: "restored" } });
    const again = new RawPeer((await third.sessions.find(id)) as Session);
    expect(await ask(again, { type: "counter/add/req", by: 0 })).toMatchObject({ value: 5 });
    await third.close(0);
  });

  test("a session that takes its time to be taken up again is not ended for want of a handshake", async () => {
    const clock = createFakeClock();
    const fragile = createFragile();
    const first = await start(fragile.plugin, { clock });
    const session = first.sessions.create();
    await shakeHands(session);
    await first.close(0);

    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    try {
      clock.advance(60 * 60_000);
      const second = await start(fragile.plugin, { clock });
      fragile.isBroken = true;
      expect((await second.sessions.find(session.id))?.status).toBe("new");
      await vi.advanceTimersByTimeAsync(2_000);
      expect(second.sessions.list()).toMatchObject([{ id: session.id, status: "new" }]);
      await second.close(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test("a part is told whether its session has ended for good", async () => {
    const told: boolean[] = [];
    const telling = plugin(counter, {
      session: (context) => ({
        handlers: (counterPlugin.session(context) as SessionPart<typeof counter>).handlers,
        close: (isForGood) => void told.push(isForGood === true),
      }),
    });
    let isSlow = false;
    let finishSaving = () => {};
    const store = createMemorySnapshotStore();
    const snapshots: typeof store = {
      ...store,
      async save(...snapshot) {
        if (isSlow)
          await new Promise<void>((resolve) => {
            finishSaving = resolve;
          });
        return store.save(...snapshot);
      },
      async close() {},
    };
    const lastTold = () => told.splice(0);
    const first = await start(telling, { snapshots, snapshotSchedule: { everyMs: 0, onDrain: true, keep: 1 } });
    const open = async (host = first) => {
      const peer = await shakeHands(host.sessions.create());
      await ask(peer, { type: "counter/add/req" });
      return peer;
    };
    const [ended, saved, lasting] = [await open(), await open(), await open()];
    await first.sessions.delete(ended.session.id);
    expect(lastTold()).toEqual([true]);

    await ask(saved, { type: "session/snapshot/req" });
    await ask(saved, { type: "session/restore/req" });
    expect(lastTold()).toEqual([false]);
    // Its agent may bring it back from there.
    await first.sessions.delete(saved.session.id);
    expect(lastTold()).toEqual([false]);
    // The same where that is still being saved.
    const saving = await open();
    isSlow = true;
    const isSaved = saving.session.saveSnapshot();
    await first.sessions.delete(saving.session.id);
    expect(lastTold()).toEqual([false]);
    isSlow = false;
    finishSaving();
    await isSaved;
    await first.close(1_000);
    expect(lastTold()).toEqual([false]);

    const second = await start(telling, { snapshots });
    expect(await second.sessions.delete(lasting.session.id)).toBe(true);
    expect(lastTold()).toEqual([true]);
    await second.close(0);
  });

  test.each([
    ["that sets its values", counterPlugin],
    ["with a live value", liveCounterPlugin],
  ])("after a restart, a session of a plugin %s still has what it was restored to", async (_, which) => {
    const snapshots = { ...createMemorySnapshotStore(), async close() {} };
    const first = await start(which, { snapshots });
    const session = first.sessions.create();
    const peer = await shakeHands(session);
    await ask(peer, { type: "counter/add/req", by: 5 });
    await ask(peer, { type: "session/snapshot/req" });
    await ask(peer, { type: "counter/add/req", by: 1 });
    await ask(peer, { type: "session/restore/req" });
    await first.close(0);

    const second = await start(which, { snapshots });
    const again = new RawPeer((await second.sessions.find(session.id)) as Session);
    expect(await ask(again, { type: "counter/add/req", by: 0 })).toMatchObject({ value: 5 });
    await second.close(0);
  });

  test("a plugin that cannot open on the restored state keeps the state it had, also after a restart", async () => {
    const snapshots = { ...createMemorySnapshotStore(), async close() {} };
    let isPicky = false;
    const picky = plugin(counter, {
      session: (context) => {
        if (isPicky && context.state.get("count") === 5) throw new Error("not five");
        return counterPlugin.session(context);
      },
    });
    const first = await start(picky, { snapshots });
    const session = first.sessions.create();
    const peer = await shakeHands(session);
    await ask(peer, { type: "counter/add/req", by: 5 });
    await ask(peer, { type: "session/snapshot/req" });
    await ask(peer, { type: "counter/add/req", by: 1 });
    isPicky = true;
    expect(await ask(peer, { type: "session/restore/req" })).toMatchObject({ code: "internal_error" });
    expect(await ask(peer, { type: "counter/add/req", by: 2 })).toMatchObject({ value: 8 });
    await first.close(0);

    const second = await start(picky, { snapshots });
    const again = new RawPeer((await second.sessions.find(session.id)) as Session);
    expect(await ask(again, { type: "counter/add/req", by: 0 })).toMatchObject({ value: 8 });
    await second.close(0);
  });

  test("after a crash in the middle of a restore, every plugin has its restored state", async () => {
    const tally = capability("tally", {
      doc: "Counts as well.",
      calls: {
        add: call("tally/add/req", "tally/add/resp", {
          about: { access: "write" },
          doc: "Adds.",
          request: z.object({ by: z.int() }),
          result: value,
          example: { request: { by: 1 }, result: { value: 1 } },
        }),
      },
    });
    const tallyPlugin = plugin(tally, {
      session: ({ state }) => ({
        handlers: {
          add({ by }) {
            const next = ((state.get("count") as number | undefined) ?? 0) + by;
            state.set("count", next);
            return { value: next };
          },
        },
      }),
    });
    let finishClosing = () => {};
    const slow = plugin(counter, {
      session: (context) => ({
        ...(counterPlugin.session(context) as SessionPart<typeof counter>),
        close: () => new Promise<void>((resolve) => (finishClosing = resolve)),
      }),
    });
    const first = await start(slow, { plugins: [slow, tallyPlugin] });
    const peer = new RawPeer(first.sessions.create());
    await peer.shakeHands({ agent_caps: ["counter", "tally"] });
    const addBoth = async (by: number, on = peer) =>
      [await ask(on, { type: "counter/add/req", by }), await ask(on, { type: "tally/add/req", by })].map(
        (answer) => answer.value,
      );
    await addBoth(5);
    await ask(peer, { type: "session/snapshot/req" });
    expect(await addBoth(1)).toEqual([6, 6]);
    const restoring = ask(peer, { type: "session/restore/req" });
    // The answer to this is written after what the restore has changed so far.
    await new Promise((resolve) => setImmediate(resolve));
    await peer.settle();

    const second = await start(slow, { plugins: [counterPlugin, tallyPlugin] }, await copy(place));
    const again = new RawPeer((await second.sessions.find(peer.session.id)) as Session);
    expect(await addBoth(0, again)).toEqual([5, 5]);
    await second.close(0);
    finishClosing();
    await restoring;
    const closing = first.close(0);
    await new Promise((resolve) => setImmediate(resolve));
    finishClosing();
    await closing;
  });

  test("null in a state is still there after a restart", async () => {
    const held: unknown[] = [];
    const forgetful = plugin(counter, {
      session: ({ state }) => {
        held.push(state.get("last"));
        return {
          handlers: {
            add({ by }) {
              state.set("last", null);
              return { value: by };
            },
            drop: () => ({}),
          },
        };
      },
    });
    const first = await start(forgetful);
    const session = first.sessions.create();
    await ask(await shakeHands(session), { type: "counter/add/req" });
    await first.close(0);
    const second = await start(forgetful);
    await second.sessions.find(session.id);
    await second.close(0);

    expect(held).toEqual([undefined, null]);
  });
}
