import { expect, test } from "vitest";
import { createPacedSync } from "./file-syncs.ts";

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
