import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Feed, type ReadEvent } from "./feed.ts";
import { OutputRing } from "./output-ring.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const limits = { maxEventBytes: 8, maxUnsentBytes: 10, stallMs: 100 };

function startFeed(ringBytes = 64) {
  const ring = new OutputRing({ maxBytes: ringBytes, maxSegments: 100 });
  const sent: ReadEvent[] = [];
  const room = vi.fn();
  const audience = { unsent: 0, send: (event: ReadEvent) => void sent.push(event), unsentBytes: () => audience.unsent };
  const feed = new Feed({ ring, audience, procId: "p", reqId: "r", cursor: 0, limits, onRoom: room });
  const write = (text: string) => {
    ring.append("stdout", Buffer.from(text));
    feed.pump();
  };
  return { feed, ring, sent, audience, room, write, texts: () => sent.map(({ data }) => data?.text ?? data) };
}

test("an agent that keeps up gets everything at once, in events of limited size", () => {
  const { write, texts, sent } = startFeed();
  write("twelve bytes");

  expect(texts()).toEqual(["twelve b", "ytes"]);
  expect(sent.map(({ seq, req_id, proc_id }) => [seq, req_id, proc_id])).toEqual([
    [1, "r", "p"],
    [2, "r", "p"],
  ]);
});

test("an agent that is behind gets nothing until it has received half, and loses nothing", () => {
  const { feed, write, texts, audience, room } = startFeed();
  audience.unsent = 11;
  write("0123456789".repeat(5));
  expect(texts()).toEqual([]);
  expect(feed.isBehind).toBe(true);

  audience.unsent = 6;
  vi.advanceTimersByTime(50);
  expect(texts()).toEqual([]);
  audience.unsent = 5;
  vi.advanceTimersByTime(10);

  expect(texts().join("")).toBe("0123456789".repeat(5));
  expect(feed.isBehind).toBe(false);
  expect(room).toHaveBeenCalled();
});

test("an agent that receives anything keeps its process waiting, an agent that receives nothing only for stallMs", () => {
  const { feed, write, audience, room } = startFeed();
  audience.unsent = 1000;
  write("0123456789".repeat(5));
  for (let step = 0; step < 50; step++) {
    audience.unsent -= 1;
    vi.advanceTimersByTime(10);
  }
  expect(feed.isBehind).toBe(true);
  expect(room).not.toHaveBeenCalled();

  vi.advanceTimersByTime(110);
  expect(feed.isBehind).toBe(false);
  expect(room).toHaveBeenCalled();
});

test("output that was overwritten before an agent received it is announced as a gap", () => {
  const { feed, write, sent, audience } = startFeed(64);
  write("abc");
  audience.unsent = 1000;
  write("x".repeat(100));
  write("y".repeat(60));
  audience.unsent = 0;
  vi.advanceTimersByTime(10);
  feed.finish({ kind: "status", stream_type: "stdout", data: { code: 0 } });

  expect(sent[1]).toMatchObject({ kind: "status", data: { gap: { from: 3, to: 163 - 64 } } });
  const after = sent.slice(2, -1).map(({ data }) => data?.text);
  expect(after.join("")).toBe(`xxxx${"y".repeat(60)}`);
  expect(sent[2]?.data?.offset).toBe(99);
  expect(sent.at(-1)?.data).toEqual({ code: 0 });
});

test("the end is sent after all output, also to an agent that is behind", () => {
  const { feed, write, sent, audience } = startFeed();
  audience.unsent = 1000;
  write("late");
  feed.finish({ kind: "status", stream_type: "stdout", data: { code: 0 } });
  expect(sent).toEqual([]);
  audience.unsent = 0;
  vi.advanceTimersByTime(10);

  expect(sent.map(({ data }) => data)).toEqual([{ text: "late", offset: 0 }, { code: 0 }]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a feed that its receiver closes sends nothing more", () => {
  const { feed, write, sent, audience } = startFeed();
  audience.send = (event) => {
    sent.push(event);
    feed.close();
  };
  write("twelve bytes");

  expect(sent).toHaveLength(1);
});
