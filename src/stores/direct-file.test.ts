import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { allocateBlocks, type DirectFile, directBlock, openDirectFile } from "./direct-file.ts";
import { DiskPace } from "./disk-pace.ts";
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
    skip(!probe(), "the file system of the temporary folder has no direct writes");
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
    skip(!probe(), "the file system of the temporary folder has no direct writes");
    const path = newPath();
    writeFileSync(path, Buffer.alloc(directBlock));
    const { file, pace } = open(path);
    expect(file?.isQuick).toBe(true);
    expect(() => file?.write(allocateBlocks(directBlock).subarray(1, 101), 7)).toThrow("EINVAL");
    expect([file?.isQuick, pace.isQuick]).toEqual([false, true]);
    file?.close();
  });
});
