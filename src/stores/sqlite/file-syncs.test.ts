import { writeFileSync } from "node:fs";
import { afterEach, expect, test, vi } from "vitest";
import { useTemporaryFolder } from "../temporary-folder.suite.ts";
import { createPacedSync, FileSyncs } from "./file-syncs.ts";

const newPath = useTemporaryFolder();
afterEach(() => void vi.useRealTimers());

/** Syncs with an interval, on a fake clock. `covered` lists the last write that each sync covered. */
function usePacedSyncs() {
  vi.useFakeTimers();
  const path = newPath();
  writeFileSync(path, "");
  const covered: number[] = [];
  const sync = (_file: number, callback: (error: null) => void) => callback(null);
  const syncs = new FileSyncs({ path, sync, intervalMs: 100, atOnce: 1, synced: (last) => covered.push(last) });
  return { syncs, covered };
}

test("a sync begins at the earliest one interval after the previous one, and covers everything written in between", () => {
  const { syncs, covered } = usePacedSyncs();
  for (let last = 1; last <= 10; last++) syncs.request(last);
  expect(covered).toEqual([1]);
  expect(syncs.isBusy).toBe(true);
  vi.advanceTimersByTime(99);
  expect(covered).toEqual([1]);
  vi.advanceTimersByTime(1);
  expect(covered).toEqual([1, 10]);
  // There is no sync without a request, and the first request after a pause does not wait.
  vi.advanceTimersByTime(1000);
  expect([covered, syncs.isBusy]).toEqual([[1, 10], false]);
  syncs.request(11);
  expect(covered).toEqual([1, 10, 11]);
  syncs.close();
});

test("hurry() starts the next sync without waiting for the interval", () => {
  const { syncs, covered } = usePacedSyncs();
  syncs.request(1);
  syncs.request(2);
  syncs.hurry();
  expect(covered).toEqual([1, 2]);
  syncs.close();
});

/** Records for each sync whether it ran in place or in the thread pool, on a disk that takes `takes` milliseconds. */
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

test("a single slow sync among quick ones costs a single trip to the thread pool", () => {
  const disk = useDisk();
  disk.sync();
  disk.sync();
  disk.takes = 5;
  disk.sync();
  disk.takes = 0.1;
  for (let count = 0; count < 4; count++) disk.sync();
  expect(disk.places).toBe("ahhahhh");
});

test("an error of a sync in place is reported like an error from the thread pool", () => {
  const disk = useDisk();
  disk.sync();
  disk.failure = new Error("gone");
  disk.sync();
  expect(disk.told).toEqual([null, disk.failure]);
});
