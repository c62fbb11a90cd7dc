import { afterEach, expect, test, vi } from "vitest";
import type { SnapshotSchedule, SnapshotStore } from "../../host/ports/snapshot-store.ts";
import { probePlugin, startRawHost } from "../../host/session/raw-session.suite.ts";
import { createMemorySnapshotStore } from "../../stores/snapshots/memory-snapshot-store.ts";
import { createFakeClock } from "../../testing/fake-clock.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** A host that remembers the last name it was given, and whose clock and sweep move together. */
async function start(snapshotSchedule: SnapshotSchedule, snapshots: SnapshotStore = createMemorySnapshotStore()) {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const clock = createFakeClock();
  let last = "";
  const keep = probePlugin(
    ({ name }) => {
      const before = last;
      last = name;
      return { value: before };
    },
    undefined,
    {
      snapshot: () => last,
      restore: (state) => {
        last = state as string;
      },
    },
  );
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

test("a session that is used is saved once in a while, and one that is not is left alone", async () => {
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

test("only so many are kept, and those that the agent took all stay", async () => {
  const { raw, pass, snapshots } = await start({ everyMs: 60_000, onDrain: false, keep: 2 });
  await using _ = raw;
  const peer = await raw.open();
  await peer.session.saving.saveSnapshot("mine");
  for (let round = 0; round < 5; round++) {
    await pass(1);
    await peer.ask(`round-${round}`, String(round));
    await pass(60_000);
  }
  expect(await labels(snapshots, peer.session.id)).toEqual(["auto:schedule", "auto:schedule", "mine"]);
  const own = JSON.stringify([peer.session.id, "test"]);
  expect(await labels(snapshots, own)).toEqual(["auto:schedule", "auto:schedule", "mine"]);
});

test("a session that ends takes the host's own snapshots with it", async () => {
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

test("a host that shuts down in peace saves its sessions, and the next one brings them back", async () => {
  const { raw, pass, snapshots } = await start({ everyMs: 0, onDrain: true, keep: 2 });
  const peer = await raw.open();
  await pass(1);
  await peer.ask("1", "remember me");
  await raw.host.close(1_000);
  expect(await labels(snapshots, peer.session.id)).toEqual(["auto:drain"]);

  const next = await start({ everyMs: 0, onDrain: true, keep: 2 }, snapshots);
  await using _ = next.raw;
  const revived = await next.raw.host.sessions.revive(peer.session.id);
  expect(revived?.id).toBe(peer.session.id);
});

test("a host that is cut off saves nothing", async () => {
  const { raw, pass, snapshots } = await start({ everyMs: 0, onDrain: true, keep: 2 });
  const peer = await raw.open();
  await pass(1);
  await peer.ask("1", "a");
  await raw.host.close(0);
  expect(await labels(snapshots, peer.session.id)).toEqual([]);
});

test("a store that fails costs a line in the log and nothing else", async () => {
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

test("what could not be saved by the clock is saved when the host shuts down", async () => {
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

test("a session that ends while it is being saved leaves nothing behind", async () => {
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
