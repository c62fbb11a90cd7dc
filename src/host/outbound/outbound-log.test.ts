import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { createMessage } from "../../protocol/codec.ts";
import { type OutboundLine, OutboundLog, type Reader } from "./outbound-log.ts";

const roomy = { maxOutboundLines: 1e9, maxOutboundBytes: 1e9, maxReplayBytes: 1e9 };

/** A log whose turns end when the test says so. */
function createLog(limits: Partial<typeof roomy> = {}) {
  const turns: (() => void)[] = [];
  const log = new OutboundLog({
    limits: { ...roomy, ...limits },
    createGap: (from, to) => createMessage("session/gap", "gap", 0, { from, to }),
    schedule: (callback) => void turns.push(callback),
  });
  return {
    log,
    endTurn() {
      for (const callback of turns.splice(0)) callback();
    },
  };
}

const all = Number.POSITIVE_INFINITY;
const seqs = (lines: readonly OutboundLine[]) => lines.map(({ seq }) => seq);
const texts = (lines: readonly OutboundLine[]) => lines.map(({ line }) => line);
const gapOf = (line: OutboundLine | undefined) => {
  const { type, from, to } = JSON.parse(line?.line ?? "{}");
  return type === "session/gap" ? [from, to] : undefined;
};

test("lines are numbered from 1 without holes", () => {
  const { log } = createLog();
  expect(["a", "b", "c"].map((line) => log.append(line))).toEqual([1, 2, 3]);
  expect(log.lastSeq).toBe(3);
  expect(log.attach(0, () => {}).read(all)).toEqual([
    { seq: 1, line: "a" },
    { seq: 2, line: "b" },
    { seq: 3, line: "c" },
  ]);
});

test("each reader knows whether it has an answer to read, and asides do not count as untaken", () => {
  const { log } = createLog();
  const [early, late] = [log.attach(0, () => {}), log.attach(0, () => {})];
  log.append("event", true);
  expect([early.hasAnswers, late.hasAnswers, log.untakenBytes]).toEqual([false, false, 0]);
  log.append("answer");
  log.append("push", true);
  expect([early.hasAnswers, late.hasAnswers, log.untakenBytes]).toEqual([true, true, 6]);
  early.read(all);
  expect([early.hasAnswers, late.hasAnswers, log.untakenBytes]).toEqual([false, true, 0]);
});

test("a reader may come in the middle, and one from beyond the end starts at the end", () => {
  const { log } = createLog();
  for (const line of ["a", "b", "c"]) log.append(line);
  expect(texts(log.attach(1, () => {}).read(all))).toEqual(["b", "c"]);
  const ahead = log.attach(99, () => {});
  expect(ahead.cursor).toBe(3);
  expect(ahead.read(all)).toEqual([]);
  log.append("d");
  expect(texts(ahead.read(all))).toEqual(["d"]);
});

test.each([-5, Number.NaN, 0.5, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY])(
  "a reader from %d, which is no line, starts at the beginning",
  (from) => {
    const { log } = createLog();
    for (const line of ["a", "b"]) log.append(line);
    expect(texts(log.attach(from, () => {}).read(all))).toEqual(["a", "b"]);
  },
);

test("two readers each get everything", () => {
  const { log, endTurn } = createLog();
  const [one, other] = [log.attach(0, () => {}), log.attach(0, () => {})];
  log.append("a");
  expect(texts(one.read(all))).toEqual(["a"]);
  log.append("b");
  endTurn();
  expect(texts(other.read(all))).toEqual(["a", "b"]);
  expect(texts(one.read(all))).toEqual(["b"]);
});

test("readers at one place in one turn are given the same array", () => {
  const { log } = createLog();
  const [one, other] = [log.attach(0, () => {}), log.attach(0, () => {})];
  log.append("a");
  expect(one.read(all)).toBe(other.read(all));
});

test("a read stops at about its bytes, and gives at least one line", () => {
  const { log } = createLog();
  for (let count = 0; count < 4; count++) log.append("12345");
  const reader = log.attach(0, () => {});
  expect(seqs(reader.read(1))).toEqual([1]);
  expect(seqs(reader.read(6))).toEqual([2, 3]);
  expect(seqs(reader.read(all))).toEqual([4]);
  expect(reader.read(all)).toEqual([]);
});

test("no more than maxOutboundLines are kept; what fell out is announced with its first and last number", () => {
  const { log } = createLog({ maxOutboundLines: 3 });
  const reader = log.attach(0, () => {});
  for (let count = 1; count <= 10; count++) log.append(`line ${count}`);
  const lines = reader.read(all);
  expect(gapOf(lines[0])).toEqual([1, 7]);
  expect(seqs(lines)).toEqual([7, 8, 9, 10]);
  expect(gapOf(log.attach(4, () => {}).read(all)[0])).toEqual([5, 7]);
  expect(texts(log.attach(7, () => {}).read(all))).toEqual(["line 8", "line 9", "line 10"]);
});

test("no more than maxOutboundBytes are kept, yet a single larger line goes out", () => {
  const { log } = createLog({ maxOutboundBytes: 10 });
  for (const line of ["1234", "1234", "1234"]) log.append(line);
  expect(log.keptBytes).toBe(8);
  log.append("x".repeat(50));
  expect(log.keptBytes).toBe(50);
  const lines = log.attach(0, () => {}).read(all);
  expect(gapOf(lines[0])).toEqual([1, 3]);
  expect(lines[1]?.line).toHaveLength(50);
});

test("what every reader was given is kept up to maxReplayBytes, for one that was cut", () => {
  const { log } = createLog({ maxReplayBytes: 10 });
  const reader = log.attach(0, () => {});
  for (let count = 0; count < 5; count++) log.append("12345");
  expect(log.keptBytes).toBe(25);
  reader.read(all);
  expect(log.keptBytes).toBe(10);
  reader.close();
  expect(seqs(log.attach(3, () => {}).read(all))).toEqual([4, 5]);
});

test("a slow reader holds back what a quick one has read, within the bounds of the log", () => {
  const { log, endTurn } = createLog({ maxReplayBytes: 5, maxOutboundLines: 4 });
  const [quick, slow] = [log.attach(0, () => {}), log.attach(0, () => {})];
  for (let count = 0; count < 4; count++) log.append("12345");
  quick.read(all);
  endTurn();
  expect(log.keptBytes).toBe(20);
  log.append("12345");
  expect(gapOf(slow.read(all)[0])).toEqual([1, 1]);
  endTurn();
});

test("readers that leave in the turn in which they read do not make unread lines count as delivered", () => {
  const { log, endTurn } = createLog({ maxReplayBytes: 5 });
  const [one, other] = [log.attach(0, () => {}), log.attach(0, () => {})];
  for (let count = 0; count < 5; count++) log.append("12345");
  one.read(1);
  one.close();
  other.close();
  endTurn();
  expect(seqs(log.attach(0, () => {}).read(all))).toEqual([1, 2, 3, 4, 5]);
});

test("what is acknowledged is dropped, but not what a reader has yet to read", () => {
  const { log } = createLog();
  const reader = log.attach(0, () => {});
  for (let count = 0; count < 4; count++) log.append("12345");
  log.acknowledge(3);
  expect(log.keptBytes).toBe(20);
  reader.read(11);
  log.acknowledge(2);
  expect(log.keptBytes).toBe(10);
  for (const nonsense of [-1, 0, 1]) log.acknowledge(nonsense);
  expect(log.keptBytes).toBe(10);
  reader.close();
  log.acknowledge(1e9);
  expect(log.keptBytes).toBe(0);
  log.append("next");
  expect(texts(log.attach(4, () => {}).read(all))).toEqual(["next"]);
});

test("a reader is woken once per turn, and not after it left", () => {
  const { log, endTurn } = createLog();
  const wake = vi.fn();
  const reader = log.attach(0, wake);
  log.append("a");
  log.append("b");
  expect(wake).not.toHaveBeenCalled();
  endTurn();
  expect(wake).toHaveBeenCalledOnce();
  reader.close();
  log.append("c");
  endTurn();
  expect(wake).toHaveBeenCalledOnce();
});

test("a reader that comes when there is something to read is woken for it", () => {
  const { log, endTurn } = createLog();
  log.append("a");
  const wake = vi.fn();
  log.attach(0, wake);
  endTurn();
  expect(wake).toHaveBeenCalledOnce();
});

test("in a long turn readers are woken before its end", () => {
  const { log } = createLog();
  const wake = vi.fn();
  log.attach(0, wake);
  log.append("x".repeat(10_000));
  expect(wake).toHaveBeenCalledOnce();
});

test("leaving twice is leaving once", () => {
  const { log } = createLog();
  const onClose = vi.fn();
  const reader = log.attach(0, () => {}, onClose);
  reader.close();
  reader.close();
  expect(onClose).toHaveBeenCalledOnce();
  expect(log.readerCount).toBe(0);
});

const action = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("append" as const), size: fc.integer({ min: 1, max: 30 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("read" as const),
      who: fc.nat(),
      maxBytes: fc.integer({ min: 1, max: 60 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("attach" as const), from: fc.integer({ min: 0, max: 60 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("leave" as const), who: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("acknowledge" as const), seq: fc.integer({ min: -1, max: 60 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("turn" as const) }) },
);

test("whatever happens, a reader sees each line once and in order, or a gap that stands for exactly what it missed", () => {
  const property = fc.property(
    fc.array(action, { maxLength: 120 }),
    fc.integer({ min: 1, max: 8 }),
    fc.integer({ min: 10, max: 120 }),
    fc.integer({ min: 0, max: 80 }),
    (script, maxOutboundLines, maxOutboundBytes, maxReplayBytes) => {
      const { log, endTurn } = createLog({ maxOutboundLines, maxOutboundBytes, maxReplayBytes });
      const said: string[] = [];
      const readers: { reader: Reader; at: number }[] = [];
      for (const step of script) {
        if (step.do === "append") {
          const line = `${said.length + 1}:`.padEnd(step.size, "x");
          said.push(line);
          expect(log.append(line)).toBe(said.length);
        } else if (step.do === "attach") {
          const reader = log.attach(step.from, () => {});
          expect(reader.cursor).toBe(Math.min(step.from, said.length));
          readers.push({ reader, at: reader.cursor });
        } else if (step.do === "acknowledge") log.acknowledge(step.seq);
        else if (step.do === "turn") endTurn();
        else if (readers.length > 0) {
          const index = step.who % readers.length;
          const entry = readers[index] as (typeof readers)[number];
          if (step.do === "leave") {
            entry.reader.close();
            readers.splice(index, 1);
            continue;
          }
          const lines = entry.reader.read(step.maxBytes);
          expect(lines.length > 0).toBe(entry.at < said.length);
          for (const line of lines) {
            const gap = gapOf(line.line.startsWith("{") ? line : undefined);
            if (gap === undefined) {
              expect(line.seq).toBe(entry.at + 1);
              expect(line.line).toBe(said[line.seq - 1]);
            } else {
              expect(gap).toEqual([entry.at + 1, line.seq]);
              expect(line.seq).toBeGreaterThan(entry.at);
            }
            entry.at = line.seq;
          }
          expect(entry.reader.cursor).toBe(entry.at);
        }
        const longest = Math.max(maxOutboundBytes, said.at(-1)?.length ?? 0);
        expect(log.keptBytes).toBeLessThanOrEqual(longest);
        expect(log.keptBytes).toBeGreaterThanOrEqual(0);
        expect(log.readerCount).toBe(readers.length);
      }
    },
  );
  fc.assert(property, { numRuns: 1_000 });
});

test("without a slow reader, a bound or an acknowledgement nothing is ever a gap", () => {
  const property = fc.property(fc.array(action, { maxLength: 80 }), (script) => {
    const { log, endTurn } = createLog();
    let count = 0;
    const reader = log.attach(0, () => {});
    const seen: number[] = [];
    for (const step of script) {
      if (step.do === "append") log.append(`${++count}`);
      else if (step.do === "read") seen.push(...seqs(reader.read(step.maxBytes)));
      else if (step.do === "acknowledge") log.acknowledge(step.seq);
      else if (step.do === "turn") endTurn();
    }
    seen.push(...seqs(reader.read(all)));
    expect(seen).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  });
  fc.assert(property, { numRuns: 200 });
});
