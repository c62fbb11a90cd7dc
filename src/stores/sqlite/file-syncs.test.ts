import { writeFileSync } from "node:fs";
import { afterEach, expect, test, vi } from "vitest";
import { useTemporaryFolder } from "../temporary-folder.suite.ts";
import { createPacedSync, FileSyncs } from "./file-syncs.ts";

const newPath = useTemporaryFolder();
afterEach(() => void vi.useRealTimers());

/** Syncs with an interval, on a clock that is moved by hand. `covered` tells up to which write each of them went. */
function usePacedSyncs() {
  vi.useFakeTimers();
  const path = newPath();
  writeFileSync(path, "");
  const covered: number[] = [];
  const sync = (_file: number, callback: (error: null) => void) => callback(null);
  const syncs = new FileSyncs({ path, sync, intervalMs: 100, atOnce: 1, synced: (last) => covered.push(last) });
  return { syncs, covered };
}

test("a sync begins no sooner than the interval after the one before, and covers all that was written meanwhile", () => {
  const { syncs, covered } = usePacedSyncs();
  for (let last = 1; last <= 10; last++) syncs.request(last);
  expect(covered).toEqual([1]);
  expect(syncs.isBusy).toBe(true);
  vi.advanceTimersByTime(99);
  expect(covered).toEqual([1]);
  vi.advanceTimersByTime(1);
  expect(covered).toEqual([1, 10]);
  // Nothing is synced that was not asked for, and after a rest nobody waits.
  vi.advanceTimersByTime(1000);
  expect([covered, syncs.isBusy]).toEqual([[1, 10], false]);
  syncs.request(11);
  expect(covered).toEqual([1, 10, 11]);
  syncs.close();
});

test("whoever is in a hurry waits for no interval", () => {
  const { syncs, covered } = usePacedSyncs();
  syncs.request(1);
  syncs.request(2);
  syncs.hurry();
  expect(covered).toEqual([1, 2]);
  syncs.close();
});

/** Tells where each sync was done, on a disk that takes so many milliseconds. */
function useDisk(): { sync(): void; places: string; takes: number; failure: Error | undefined; told: unknown[] } {
  let clock = 0;
  const sync = createPacedSync({
    syncHere() {
      disk.places += "h";
      clock += disk.takes;
      if (disk.failure !== undefined) throw disk.failure;
    },
    syncAway(_file, callback) {
      disk.places += "a";
      callback(null);
    },
    now: () => clock,
  });
  const told: unknown[] = [];
  const disk = {
    sync: () => sync(1, (error) => told.push(error)),
    places: "",
    takes: 0.1,
    failure: undefined as Error | undefined,
    told,
  };
  return disk;
}

test("a quick disk is waited for in place", () => {
  const disk = useDisk();
  for (let count = 0; count < 6; count++) disk.sync();
  expect(disk.places).toBe("ahhhhh");
});

test("a slow disk is left to the thread pool, and tried less and less often", () => {
  const disk = useDisk();
  disk.takes = 5;
  for (let count = 0; count < 19; count++) disk.sync();
  expect(disk.places).toBe("ahahaahaaaahaaaaaaa");
  for (let count = 0; count < 10_000; count++) disk.sync();
  expect([...disk.places].filter((place) => place === "h").length).toBeLessThan(25);
});

test("one slow sync among quick ones costs one trip to the thread pool", () => {
  const disk = useDisk();
  disk.sync();
  disk.sync();
  disk.takes = 5;
  disk.sync();
  disk.takes = 0.1;
  for (let count = 0; count < 4; count++) disk.sync();
  expect(disk.places).toBe("ahhahhh");
});

test("what goes wrong in place is told as from the thread pool", () => {
  const disk = useDisk();
  disk.sync();
  disk.failure = new Error("gone");
  disk.sync();
  expect(disk.told).toEqual([null, disk.failure]);
});
