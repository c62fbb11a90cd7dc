import { readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "./temporary-folder.suite.ts";
import { maxTurnLogBytes, TurnLogFile } from "./turn-log-file.ts";

const newPath = useTemporaryFolder();
const epoch = 7;
const record = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).filter((text) => !text.includes("\u001e"));
const frames = fc.array(fc.array(record, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 8 });

function write(path: string, turns: readonly (readonly string[])[], of = epoch): number[] {
  const log = new TurnLogFile(path, false);
  const ends = turns.map((records) => {
    log.write(records, of);
    return statSync(path).size;
  });
  log.close(false);
  return ends;
}

function read(path: string, of = epoch): string[] {
  const log = new TurnLogFile(path, false);
  const records = log.read(of);
  log.close(false);
  return records;
}

test("what was written is read again, in order", () => {
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

test("whichever byte has changed, what was before its turn is there and nothing after", () => {
  fc.assert(
    fc.property(frames, fc.nat(), fc.integer({ min: 1, max: 255 }), (turns, at, change) => {
      const path = newPath();
      const ends = write(path, turns);
      const bytes = readFileSync(path);
      const place = at % bytes.length;
      bytes[place] = (bytes[place] as number) ^ change;
      writeFileSync(path, bytes);
      expect(read(path)).toEqual(turns.filter((_, index) => (ends[index] as number) <= place).flat());
    }),
  );
});

test("frames of another epoch count as nothing, also behind those that count", () => {
  const path = newPath();
  write(path, [["a"], ["b"], ["c"]], 1);
  write(path, [["x"]], 2);
  expect(read(path, 2)).toEqual(["x"]);
  expect(read(path, 1)).toEqual([]);
});

test("room that was made ahead has no records, whichever epoch is asked for", () => {
  const path = newPath();
  writeFileSync(path, Buffer.alloc(4096));
  expect(read(path, 0)).toEqual([]);
  expect(read(path, 1)).toEqual([]);
});

test("what does not fit is not written; emptied, there is room again", () => {
  const log = new TurnLogFile(newPath(), true);
  const half = "x".repeat(maxTurnLogBytes / 2);
  expect(log.write([half], 1)).toBe(true);
  expect(log.write([half], 1)).toBe(false);
  expect(log.read(1)).toEqual([half]);
  log.empty();
  expect(log.write(["y"], 2)).toBe(true);
  expect(log.read(2)).toEqual(["y"]);
  log.close(true);
});

test("room is made ahead for what is synced, so that most writes leave the length as it is", () => {
  const path = newPath();
  const log = new TurnLogFile(path, true);
  const lengths = new Set<number>();
  for (let written = 0; written < 1000; written++) {
    log.write(["x".repeat(1000)], 1);
    lengths.add(statSync(path).size);
  }
  expect(lengths.size).toBeLessThanOrEqual(4);
  expect(log.read(1)).toHaveLength(1000);
  log.close(true);
});

test("nobody but its user can read it", () => {
  const path = newPath();
  write(path, [["a"]]);
  expect(statSync(path).mode & 0o077).toBe(0);
});
