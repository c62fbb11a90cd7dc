import { constants, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { allocateBlocks, type DirectFile, directBlock, openDirectFile } from "./direct-file.ts";
import { DiskPace } from "./disk-pace.ts";
import { openTurns } from "./opened-turns.suite.ts";
import { useTemporaryFolder } from "./temporary-folder.suite.ts";

const newPath = useTemporaryFolder();

/** On a disk that has proven to be quick. */
function open(path: string): { file: DirectFile | undefined; pace: DiskPace } {
  const pace = new DiskPace(() => 0);
  pace.wait(() => {});
  return { file: openDirectFile(path, pace), pace };
}

const probe = () => {
  const path = newPath();
  writeFileSync(path, "");
  const { file } = open(path);
  file?.close();
  return file !== undefined;
};

const lacking = "the file system of the temporary folder has no direct writes";

/** How each descriptor of a file was opened. */
function flagsOf(path: string): number[] {
  return readdirSync("/proc/self/fd").flatMap((file) => {
    try {
      if (readlinkSync(`/proc/self/fd/${file}`) !== path) return [];
      const [, flags = ""] = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${file}`, "utf8")) ?? [];
      return Number.parseInt(flags, 8);
    } catch {
      return []; // It was the one that reads the folder.
    }
  });
}

const isDirect = (flags: number) => (flags & constants.O_DIRECT) !== 0;
const isSynced = (flags: number) => (flags & constants.O_DSYNC) !== 0;

test("a file that cannot be opened that way is none", () => {
  const path = newPath();
  mkdirSync(path);
  expect(open(path).file).toBeUndefined();
});

test.runIf(process.env.CI === "true")(
  "the file system of a machine that vouches for every test has direct writes",
  () => expect(probe()).toBe(true),
);

describe.skipIf(process.platform !== "linux")("direct writes (need Linux, and a file system that has them)", () => {
  test("what is written is there for every other reader, and nothing beside it has changed", ({ skip }) => {
    skip(!probe(), lacking);
    const path = newPath();
    writeFileSync(path, Buffer.alloc(4 * directBlock, "."));
    const { file } = open(path);
    const blocks = allocateBlocks(8 * directBlock)
      .subarray(0, 2 * directBlock)
      .fill("x");
    file?.write(blocks, directBlock);
    file?.close();
    const [before, written, after] = [directBlock, 2 * directBlock, directBlock].map((length, index) =>
      (index === 1 ? "x" : ".").repeat(length),
    );
    expect(readFileSync(path, "latin1")).toBe(`${before}${written}${after}`);
  });

  test("a write that is refused is told, and none is tried after it", ({ skip }) => {
    skip(!probe(), lacking);
    const path = newPath();
    writeFileSync(path, Buffer.alloc(directBlock));
    const { file, pace } = open(path);
    expect(file?.isQuick).toBe(true);
    expect(() => file?.write(allocateBlocks(directBlock).subarray(1, 101), 7)).toThrow("EINVAL");
    expect([file?.isQuick, pace.isQuick]).toEqual([false, true]);
    file?.close();
  });

  test("a disk that has become slow is not waited for", ({ skip }) => {
    skip(!probe(), lacking);
    const path = newPath();
    writeFileSync(path, "");
    let clock = 0;
    const pace = new DiskPace(() => clock);
    const file = openDirectFile(path, pace);
    expect(file?.isQuick).toBe(false);
    pace.wait(() => {});
    expect(file?.isQuick).toBe(true);
    pace.wait(() => {
      clock += 5;
    });
    expect(file?.isQuick).toBe(false);
    file?.close();
  });

  test.for([
    ["power", 1],
    ["process", 0],
  ] as const)(
    "with durability %s the log of turns is opened so %i times, synced, and closed",
    async ([durability, times], { skip }) => {
      skip(!probe(), lacking);
      const path = newPath();
      const { append, database, ends } = await openTurns(path, { durability });
      for (const value of ["a", "b", "c"]) expect(await append(value)).toBeUndefined();
      const direct = flagsOf(`${path}-turns`).filter(isDirect);
      expect([direct.length, direct.every(isSynced), ends]).toEqual([times, true, ["folded", "logged", "logged"]]);
      await database.close();
      expect(flagsOf(`${path}-turns (deleted)`)).toEqual([]);
      expect(flagsOf(`${path}-turns`)).toEqual([]);
    },
  );
});
