import { expect, test } from "vitest";
import { createOutboundPump } from "../framing/outbound-pump.ts";
import { OutboundLog } from "../host/outbound/outbound-log.ts";
import { defaultLimits } from "../protocol/limits.ts";
import { WriteRounds } from "./write-rounds.ts";

/** Streams on a clock that moves by a tenth of a millisecond with each write. */
function startStreams(count: number) {
  let now = 0;
  const turns: (() => void)[] = [];
  const rounds = new WriteRounds({
    now: () => now,
    nextTurn: (callback) => void turns.push(callback),
  });
  const streams = Array.from({ length: count }, () => {
    let endTurn = () => {};
    const log = new OutboundLog({
      limits: defaultLimits,
      createGap: () => expect.fail("no line was dropped"),
      schedule: (callback) => {
        endTurn = callback;
      },
    });
    const writes: string[] = [];
    const source = {
      attach: (from: number, wake: () => void) => log.attach(from, wake),
      onClosed: () => () => {},
      get unsentBytes() {
        return log.unsentBytes;
      },
    };
    createOutboundPump(rounds.pace(source), 0, 1_000_000, {
      write(lines) {
        now += 0.1;
        writes.push(lines.map(({ line }) => line).join(" "));
        return true;
      },
      ended() {},
    });
    return {
      writes,
      say(line: string, isAside: boolean) {
        log.append(line, isAside);
        const end = endTurn;
        endTurn = () => {};
        end();
      },
    };
  });
  const pushToAll = (line: string) => {
    for (const stream of streams) stream.say(line, true);
  };
  const wait = (ms: number) => {
    now += ms;
  };
  const endTurn = () => {
    for (const callback of turns.splice(0)) callback();
  };
  return { streams, pushToAll, wait, endTurn, isPausing: () => turns.length > 0 };
}

test("pushes to a few streams are written at once, each time", () => {
  const { streams, isPausing, pushToAll, wait } = startStreams(3);
  for (let turn = 1; turn <= 40; turn++) {
    pushToAll(`push ${turn}`);
    wait(10);
  }
  for (const { writes } of streams) expect(writes).toHaveLength(40);
  expect(isPausing()).toBe(false);
});

test("pushes to many streams in the turns after a round are sent to each in one write", () => {
  const { streams, pushToAll, wait, endTurn } = startStreams(100);
  pushToAll("1");
  wait(5);
  endTurn();
  for (const { writes } of streams) expect(writes).toEqual(["1"]);
  for (const line of ["2", "3", "4"]) {
    pushToAll(line);
    endTurn();
  }
  for (const { writes } of streams) expect(writes).toEqual(["1"]);
  wait(10);
  endTurn();
  for (const { writes } of streams) expect(writes).toEqual(["1", "2 3 4"]);
});

test("a pause ends with the first turn that adds no line", () => {
  const { streams, pushToAll, endTurn, isPausing } = startStreams(100);
  pushToAll("1");
  endTurn();
  expect(streams[99]?.writes).toEqual([]);
  endTurn();
  expect(streams[99]?.writes).toEqual(["1"]);
  for (const _turn of [1, 2]) endTurn();
  expect(isPausing()).toBe(false);
  streams[99]?.say("2", true);
  expect(streams[99]?.writes).toEqual(["1", "2"]);
});

test("an answer is sent during a pause, together with the pushes before it", () => {
  const { streams, pushToAll, wait, endTurn } = startStreams(100);
  for (const line of ["1", "2"]) pushToAll(line);
  streams[99]?.say("answer", false);
  expect(streams[99]?.writes).toEqual(["1 2 answer"]);
  wait(100);
  endTurn();
  expect(streams[99]?.writes).toEqual(["1 2 answer"]);
});

test("a stream with much to send does not wait for the end of the pause", () => {
  const { streams, pushToAll } = startStreams(100);
  pushToAll("1");
  streams[99]?.say("x".repeat(20_000), true);
  expect(streams[99]?.writes).toHaveLength(1);
});

test("a pause is never longer than 20 ms", () => {
  const { streams, pushToAll, wait, endTurn } = startStreams(1_000);
  for (const line of ["1", "2"]) {
    pushToAll(line);
    wait(100);
    endTurn();
  }
  const count = () => streams[999]?.writes.length;
  const before = count();
  pushToAll("3");
  wait(19);
  endTurn();
  expect(count()).toBe(before);
  pushToAll("4");
  wait(1);
  endTurn();
  expect(count()).toBe((before ?? 0) + 1);
});
