import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { fullDevice, testWith } from "../../testing/needs.suite.ts";
import { useTemporaryFolder } from "../temporary-folder.suite.ts";
import { createRotatingFile } from "./rotating-file.ts";

const newPlace = useTemporaryFolder();

function startFile(maxBytes: number, maxBackups: number) {
  const path = join(newPlace(), "audit.log");
  const file = createRotatingFile({ path, maxBytes, maxBackups });
  return {
    path,
    append: (...texts: string[]) => file.append(texts.map((text) => Buffer.from(text))),
    read: (backup = 0) => readFileSync(backup === 0 ? path : `${path}.${backup}`, "utf8"),
    names: () => readdirSync(dirname(path)).sort(),
  };
}

test("a file that is exactly full is kept, and rotated by the next line", async () => {
  const { append, read, names } = startFile(6, 5);

  await append("ab\ncd\n");
  expect(names()).toEqual(["audit.log"]);
  await append("e\n");
  expect(read(1)).toBe("ab\ncd\n");
  expect(read()).toBe("e\n");
});

test("lines given at once are divided between files at a line end", async () => {
  const { append, read } = startFile(6, 5);

  expect(await append("ab\ncde\nf\n")).toEqual({ written: 9 });

  expect(read(1)).toBe("ab\n");
  expect(read()).toBe("cde\nf\n");
});

test("lines of several buffers are divided between files at a line end, wherever they lie", async () => {
  const { append, read } = startFile(6, 5);

  expect(await append("ab\n", "cd\nef\n", "ghijklmn\n", "o\n")).toEqual({ written: 20 });

  expect(read(3)).toBe("ab\ncd\n");
  expect(read(2)).toBe("ef\n");
  expect(read(1)).toBe("ghijklmn\n");
  expect(read()).toBe("o\n");
});

test("each rotation renames every file to the next number and drops the oldest", async () => {
  const { append, read, names } = startFile(2, 3);

  for (const letter of "abcdef") await append(`${letter}\n`);

  expect(names()).toEqual(["audit.log", "audit.log.1", "audit.log.2", "audit.log.3"]);
  expect([read(), read(1), read(2), read(3)]).toEqual(["f\n", "e\n", "d\n", "c\n"]);
});

test("a line longer than a file gets a file of its own", async () => {
  const { append, read } = startFile(4, 5);

  await append("a\nbcdefgh\ni\n");

  expect([read(2), read(1), read()]).toEqual(["a\n", "bcdefgh\n", "i\n"]);
});

test("without backups a full file starts over", async () => {
  const { append, read, names } = startFile(4, 0);

  await append("a\nb\nc\n");

  expect(names()).toEqual(["audit.log"]);
  expect(read()).toBe("c\n");
});

test("lines of an earlier process count towards the size, and its torn last line is closed first", async () => {
  const { path, append, read } = startFile(100, 5);
  mkdirSync(dirname(path));
  writeFileSync(path, "whole\nto");

  await append("new\n");

  expect(read()).toBe("whole\nto\nnew\n");
});

test("appending no bytes creates no file", async () => {
  const { path, append } = startFile(100, 5);

  expect(await append("")).toEqual({ written: 0 });

  expect(existsSync(dirname(path))).toBe(false);
});

test("a folder removed meanwhile is a failure once, then it is made again", async () => {
  const { path, append, read } = startFile(100, 5);
  await append("a\n");
  rmSync(dirname(path), { recursive: true });

  expect(await append("b\n")).toMatchObject({ written: 0, cause: { code: "ENOENT" } });
  expect(await append("b\n")).toEqual({ written: 2 });
  expect(read()).toBe("b\n");
});

testWith(fullDevice)(
  "a full disk is reported as a failure, and writing continues when there is room again",
  async () => {
    const { path, append, read } = startFile(100, 5);
    mkdirSync(dirname(path));
    symlinkSync("/dev/full", path);

    expect(await append("a\n")).toMatchObject({ written: 0, cause: { code: "ENOSPC" } });
    rmSync(path);
    expect(await append("a\n")).toEqual({ written: 2 });
    expect(read()).toBe("a\n");
  },
);

test("a rotation that fails reports how much was written before, and the rest can follow later", async () => {
  const { path, append, read } = startFile(4, 1);
  mkdirSync(join(`${path}.1`, "in the way"), { recursive: true });

  expect(await append("ab\ncd\n")).toMatchObject({ written: 3, cause: expect.any(Error) });
  rmSync(`${path}.1`, { recursive: true });
  expect(await append("cd\n")).toEqual({ written: 3 });
  expect([read(1), read()]).toEqual(["ab\n", "cd\n"]);
});

test("with buffers of any size, no line is split or lost, no file is too long, and the order is kept", async () => {
  const anyBatches = fc.array(fc.array(fc.nat(12), { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(anyBatches, fc.integer({ min: 1, max: 20 }), async (batches, maxBytes) => {
      const { path, append, read, names } = startFile(maxBytes, 36);
      let count = 0;
      const lines: string[] = [];
      for (const batch of batches) {
        const added = batch.map((length) => `${"x".repeat(length)}${count++}\n`);
        lines.push(...added);
        await append(added.join(""));
      }
      const contents = names().map((_, index, all) => read(all.length - 1 - index));
      expect(contents.join("")).toBe(lines.join(""));
      for (const content of contents) {
        expect(content.endsWith("\n")).toBe(true);
        if (content.length > maxBytes) expect(content.indexOf("\n")).toBe(content.length - 1);
      }
      expect(statSync(path).size).toBeGreaterThan(0);
    }),
    { numRuns: 50 },
  );
});
