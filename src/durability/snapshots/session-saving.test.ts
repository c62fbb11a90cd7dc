import { afterEach, expect, test, vi } from "vitest";
import type { SnapshotSchedule, SnapshotStore } from "../../host/ports/snapshot-store.ts";
import { echo, probe, startRawHost } from "../../host/session/raw-session.suite.ts";
import { plugin } from "../../plugin/plugin.ts";
import { createMemorySnapshotStore } from "../../stores/snapshots/memory-snapshot-store.ts";
import { createFakeClock } from "../../testing/fake-clock.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** A host whose sessions keep the last name they were given, and whose clock and sweep advance together. */
async function start(snapshotSchedule: SnapshotSchedule, snapshots: SnapshotStore = createMemorySnapshotStore()) {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const clock = createFakeClock();
  const keep = plugin(probe, {
    session: ({ state }) => ({
      handlers: {
        run({ name }) {
          const before = String(state.get("last") ?? "");
          state.set("last", name);
          return { value: before };
        },
        other: echo,
      },
    }),
  });
  // What is saved when the host closes must still be readable afterwards.
  const raw = await startRawHost([keep], { clock, snapshotSchedule, snapshots: { ...snapshots, async close() {} } });
  const pass = async (ms: number) => {
    clock.advance(ms);
    await vi.advanceTimersByTimeAsync(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { raw, pass, snapshots };
}

const labels = async (snapshots: SnapshotStore, id: string) => (await snapshots.list(id)).map(({ label }) => label);

test("a session that is used is saved on schedule, and an idle session is not saved", async () => {
  const { raw, pass, snapshots } = await start({ everyMs: 60_000, onDrain: false, keep: 2 });
  await using _ = raw;
  const peer = await raw.open();
  const idle = await raw.open();
  await pass(30_000);
  await peer.ask("1", "a");
  expect(await labels(snapshots, peer.session.id)).toEqual([]);
  await pass(30_000);
  expect(await labels(snapshots, peer.session.id)).toEqual(["auto:schedule"]);
  await pass(600_000);
  expect(await labels(snapshots, peer.session.id)).toEqual(["auto:schedule"]);
  expect(await labels(snapshots, idle.session.id)).toEqual([]);
});

test("only the newest `keep` automatic snapshots are kept, and all snapshots of the agent", async () => {
  const { raw, pass, snapshots } = await start({ everyMs: 60_000, onDrain: false, keep: 2 });
  await using _ = raw;
  const peer = await raw.open();
  await peer.session.saveSnapshot("mine");
  for (let round = 0; round < 5; round++) {
    await pass(1);
    await peer.ask(`round-${round}`, String(round));
    await pass(60_000);
  }
  expect(await labels(snapshots, peer.session.id)).toEqual(["auto:schedule", "auto:schedule", "mine"]);
  const own = JSON.stringify([peer.session.id, "test"]);
  expect(await labels(snapshots, own)).toEqual(["auto:schedule", "auto:schedule", "mine"]);
});

test("the automatic snapshots of a session are deleted when it ends", async () => {
  const { raw, pass, snapshots } = await start({ everyMs: 1_000, onDrain: true, keep: 2 });
  await using _ = raw;
  const peer = await raw.open();
  await pass(1);
  await peer.ask("1", "a");
  await pass(1_000);
  expect(await labels(snapshots, peer.session.id)).toHaveLength(1);
  await peer.session.close("the agent left");
  expect(await labels(snapshots, peer.session.id)).toEqual([]);
});

test("a host that drains saves its sessions, and the next host can restore them", async () => {
  const { raw, pass, snapshots } = await start({ everyMs: 0, onDrain: true, keep: 2 });
  const peer = await raw.open();
  await pass(1);
  await peer.ask("1", "remember me");
  await raw.host.close(1_000);
  expect(await labels(snapshots, peer.session.id)).toEqual(["auto:drain"]);

  const next = await start({ everyMs: 0, onDrain: true, keep: 2 }, snapshots);
  await using _ = next.raw;
  const restored = await next.raw.host.sessions.restore(peer.session.id);
  expect(restored?.id).toBe(peer.session.id);
});

test("a host that closes without drain time saves nothing", async () => {
  const { raw, pass, snapshots } = await start({ everyMs: 0, onDrain: true, keep: 2 });
  const peer = await raw.open();
  await pass(1);
  await peer.ask("1", "a");
  await raw.host.close(0);
  expect(await labels(snapshots, peer.session.id)).toEqual([]);
});

test("a failed automatic snapshot is logged, and the session goes on", async () => {
  const broken = { ...createMemorySnapshotStore(), save: () => Promise.reject(new Error("disk full")) };
  const { raw, pass } = await start({ everyMs: 1_000, onDrain: true, keep: 2 }, broken);
  const peer = await raw.open();
  await pass(1);
  await peer.ask("1", "a");
  await pass(1_000);
  expect(raw.log.entries).toContainEqual(expect.objectContaining({ message: "a session could not be saved" }));
  expect(await peer.ask("2", "b")).toMatchObject({ value: "a" });
  await raw.host.close(1_000);
});

test("a session whose scheduled snapshot failed is saved when the host drains", async () => {
  const store = createMemorySnapshotStore();
  let isBroken = true;
  const save: SnapshotStore["save"] = (...args) =>
    isBroken ? Promise.reject(new Error("disk full")) : store.save(...args);
  const { raw, pass } = await start({ everyMs: 1_000, onDrain: true, keep: 2 }, { ...store, save });
  const peer = await raw.open();
  await pass(1);
  await peer.ask("1", "a");
  await pass(1_000);
  isBroken = false;
  await raw.host.close(1_000);
  expect(await labels(store, peer.session.id)).toEqual(["auto:drain"]);
});

test("a session that ends while it is being saved leaves no automatic snapshot behind", async () => {
  const store = createMemorySnapshotStore();
  let go = () => {};
  const save: SnapshotStore["save"] = async (...args) => {
    await new Promise<void>((resolve) => {
      go = resolve;
    });
    return store.save(...args);
  };
  const { raw, pass } = await start({ everyMs: 1_000, onDrain: false, keep: 2 }, { ...store, save });
  const peer = await raw.open();
  await pass(1);
  await peer.ask("1", "a");
  await pass(1_000);
  await peer.session.close("the agent left");
  for (let turns = 0; turns < 10; turns++) {
    go();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await raw.host.close(0);
  expect(await labels(store, peer.session.id)).toEqual([]);
});
