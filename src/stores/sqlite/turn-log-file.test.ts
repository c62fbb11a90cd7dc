import { readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../temporary-folder.suite.ts";
import { TurnLogFile, turnLogHalf } from "./turn-log-file.ts";

const newPath = useTemporaryFolder();
const epoch = 7;
const record = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).filter((text) => !text.includes("\u001e"));
const frames = fc.array(fc.array(record, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 8 });

function write(path: string, turns: readonly (readonly string[])[], of = epoch): number[] {
  const log = new TurnLogFile(path);
  const ends = turns.map((records) => {
    log.write(records, of);
    return log.position;
  });
  log.close(false);
  return ends;
}

function read(path: string, of = epoch, start = 0): string[] {
  const log = new TurnLogFile(path);
  const records = log.read(of, start);
  log.close(false);
  return records;
}

test("records are read back in the order in which they were written", () => {
  fc.assert(
    fc.property(frames, (turns) => {
      const path = newPath();
      write(path, turns);
      expect(read(path)).toEqual(turns.flat());
    }),
  );
});

test("wherever the file was cut off, the turns that are whole are there and no other", () => {
  fc.assert(
    fc.property(frames, fc.nat(), (turns, at) => {
      const path = newPath();
      const ends = write(path, turns);
      const length = at % ((ends.at(-1) as number) + 1);
      truncateSync(path, length);
      expect(read(path)).toEqual(turns.filter((_, index) => (ends[index] as number) <= length).flat());
    }),
  );
});

test("if any byte changes, the turns before it are read and none after it", () => {
  fc.assert(
    fc.property(frames, fc.nat(), fc.integer({ min: 1, max: 255 }), (turns, at, change) => {
      const path = newPath();
      const ends = write(path, turns);
      const bytes = readFileSync(path);
      const place = at % (ends.at(-1) as number);
      bytes[place] = (bytes[place] as number) ^ change;
      writeFileSync(path, bytes);
      expect(read(path)).toEqual(turns.filter((_, index) => (ends[index] as number) <= place).flat());
    }),
  );
});

test("frames of another epoch are ignored, also behind those of the epoch that is read", () => {
  const path = newPath();
  write(path, [["a"], ["b"], ["c"]], 1);
  write(path, [["x"]], 2);
  expect(read(path, 2)).toEqual(["x"]);
  expect(read(path, 1)).toEqual([]);
});

test("preallocated room has no records in any epoch", () => {
  const path = newPath();
  writeFileSync(path, Buffer.alloc(4096));
  expect(read(path, 0)).toEqual([]);
  expect(read(path, 1)).toEqual([]);
});

test("records that do not fit into a half are not written; the other half has room", () => {
  const log = new TurnLogFile(newPath());
  const most = "x".repeat(turnLogHalf - 100);
  expect(log.write([most], 1)).toBe(true);
  expect(log.write([most], 1)).toBe(false);
  expect([log.isFull, log.otherHalf]).toEqual([true, turnLogHalf]);
  log.begin(log.otherHalf);
  expect(log.write([most], 2)).toBe(true);
  expect(log.write(["y".repeat(100)], 2)).toBe(false);
  expect([log.isFull, log.otherHalf]).toEqual([true, 0]);
  expect(log.read(1, 0)).toEqual([most]);
  expect(log.read(2, turnLogHalf)).toEqual([most]);
  log.close(true);
});

test("a frame never crosses into the other half", () => {
  const log = new TurnLogFile(newPath());
  expect(log.write(["x".repeat(turnLogHalf - 12)], 1)).toBe(false);
  expect(log.write(["x".repeat(turnLogHalf - 13)], 1)).toBe(true);
  expect(log.otherHalf).toBe(turnLogHalf);
  log.close(true);
});

test("an epoch begins behind the last one and leaves it unchanged; writing continues behind the epoch that was read", () => {
  const path = newPath();
  const log = new TurnLogFile(path);
  log.write(["a"], 1);
  const start = log.position;
  log.begin(start);
  expect(log.isEmpty).toBe(true);
  log.write(["b"], 2);
  expect(log.isEmpty).toBe(false);
  log.close(false);
  expect(read(path, 1)).toEqual(["a"]);
  expect(read(path, 2, start)).toEqual(["b"]);

  // As after a power cut that took the commit of the second epoch: it is written over.
  const again = new TurnLogFile(path);
  expect(again.read(1, 0)).toEqual(["a"]);
  again.begin(again.position);
  again.write(["c"], 3);
  again.close(false);
  expect(read(path, 3, start)).toEqual(["c"]);
  expect(read(path, 2, start)).toEqual([]);
});

test("an epoch that began in a removed file has no records, and the new file is written from its beginning", () => {
  const log = new TurnLogFile(newPath());
  expect(log.read(1, turnLogHalf)).toEqual([]);
  expect(log.position).toBe(0);
  log.close(true);
});

test("room is made ahead, so that most writes leave the length as it is", () => {
  const path = newPath();
  const log = new TurnLogFile(path);
  const lengths = new Set<number>();
  for (let written = 0; written < 1000; written++) {
    log.write(["x".repeat(1000)], 1);
    lengths.add(statSync(path).size);
  }
  expect(lengths.size).toBeLessThanOrEqual(4);
  expect(log.read(1, 0)).toHaveLength(1000);
  log.close(true);
});

test("only its user can read the file", () => {
  const path = newPath();
  write(path, [["a"]]);
  expect(statSync(path).mode & 0o077).toBe(0);
});

test.each(["\u20ac", "\u00e9", "\u{1f600}", "x"])("long texts of %s are read as they were written", (character) => {
  for (const bytes of [64 * 1024, 1024 * 1024, 3 * 1024 * 1024]) {
    // Around the lengths at which the memory that it is written from is just enough, counted in bytes or at their most.
    for (const length of [bytes / 3, bytes / Buffer.byteLength(character)]) {
      const path = newPath();
      const texts = [-9, -4, 0, 3].map((more) => character.repeat((length + more) / character.length));
      write(
        path,
        texts.map((text) => [text]),
      );
      expect(read(path).map((text, index) => text === texts[index])).toEqual(texts.map(() => true));
    }
  }
});
