import fc from "fast-check";
import { expect, test } from "vitest";
import type { StreamName } from "../protocol.ts";
import { OutputRing } from "./output-ring.ts";

const textOf = (pieces: { bytes: Buffer }[]) => Buffer.concat(pieces.map(({ bytes }) => bytes)).toString("latin1");

test("a ring keeps the newest bytes at their original offsets", () => {
  const ring = new OutputRing({ maxBytes: 10, maxSegments: 100 });
  ring.append("stdout", Buffer.from("abcdef"));
  ring.append("stderr", Buffer.from("XY"));
  ring.append("stdout", Buffer.from("ghijk"));

  expect([ring.start, ring.end, ring.endOf("stdout"), ring.endOf("stderr")]).toEqual([3, 13, 11, 2]);
  expect(
    ring.read(0, 100).map(({ stream, offset, position, bytes }) => [stream, offset, position, `${bytes}`]),
  ).toEqual([
    ["stdout", 3, 3, "def"],
    ["stderr", 0, 6, "XY"],
    ["stdout", 6, 8, "ghijk"],
  ]);
  expect(textOf(ring.readStream("stdout", 4, 3))).toBe("efg");
});

test("single bytes of alternating streams cost no more than their segments", () => {
  const ring = new OutputRing({ maxBytes: 1024, maxSegments: 8 });
  for (let index = 0; index < 5000; index++)
    ring.append(index % 2 === 0 ? "stdout" : "stderr", Buffer.from([index & 0xff]));

  expect(ring.read(0, 10_000)).toHaveLength(8);
  expect([ring.start, ring.end]).toEqual([4992, 5000]);
});

test("a ring behaves like a list of all output, for any writes and reads", () => {
  const write = fc.record({
    stream: fc.constantFrom<StreamName>("stdout", "stderr"),
    size: fc.integer({ min: 0, max: 9000 }),
  });
  fc.assert(
    fc.property(
      fc.array(write, { maxLength: 40 }),
      fc.integer({ min: 1, max: 20_000 }),
      fc.nat(60_000),
      fc.integer({ min: 1, max: 9000 }),
      (writes, maxBytes, from, count) => {
        const ring = new OutputRing({ maxBytes, maxSegments: 1000 });
        const everything = { all: "", stdout: "", stderr: "" };
        let next = 0;
        for (const { stream, size } of writes) {
          const bytes = Buffer.from(Array.from({ length: size }, () => (next++ * 7) & 0xff));
          ring.append(stream, bytes);
          everything.all += bytes.toString("latin1");
          everything[stream] += bytes.toString("latin1");
        }
        const { start, end } = ring;
        const at = Math.min(Math.max(from, start), end);
        expect(end).toBe(everything.all.length);
        expect(end - start).toBe(Math.min(end, maxBytes));
        expect(textOf(ring.read(from, count))).toBe(everything.all.slice(at, at + count));
        for (const piece of ring.read(start, maxBytes)) {
          const { stream, offset, bytes } = piece;
          expect(everything[stream].slice(offset, offset + bytes.length)).toBe(bytes.toString("latin1"));
        }
        for (const stream of ["stdout", "stderr"] as const) {
          const [oldest] = ring.readStream(stream, 0, 1);
          const first = oldest?.offset ?? everything[stream].length;
          expect(textOf(ring.readStream(stream, from, count))).toBe(
            everything[stream].slice(Math.max(from, first), Math.max(from, first) + count),
          );
        }
      },
    ),
    { numRuns: 200 },
  );
});
