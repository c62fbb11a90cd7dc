import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ping } from "../protocol/core.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { PendingCall, type PendingOptions } from "./pending-call.ts";
import { PendingCalls } from "./pending-calls.ts";

function setUp() {
  const clock = createFakeClock(0);
  const givenUp: string[] = [];
  const pending = new PendingCalls(clock, (call) => givenUp.push(call.message.id));
  const add = (id: string, timeoutMs = 0, options: PendingOptions = {}) => {
    const call = new PendingCall({ type: "ping", id }, ping, options, timeoutMs);
    vi.spyOn(call, "reject");
    pending.add(call);
    pending.watch(call);
    return call;
  };
  const pass = (ms: number) => {
    clock.advance(ms);
    vi.advanceTimersByTime(ms);
  };
  return { pending, add, pass, givenUp };
}

describe("PendingCalls", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("lists calls in the order in which they were made", () => {
    const { pending, add } = setUp();
    const ids = Array.from({ length: 100 }, (_, index) => `${(index * 7919) % 101}`);
    for (const id of ids) add(id);
    expect(pending.all().map((call) => call.message.id)).toEqual(ids);
    pending.rejectAll(() => new Error());
  });

  test("gives up exactly the calls that timed out, each once, and reports them", () => {
    const { pending, add, pass, givenUp } = setUp();
    const early = add("early", 100);
    const late = add("late", 1000);
    pass(75);
    expect(early.reject).not.toHaveBeenCalled();
    pass(50);
    expect(early.reject).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: "timeout" }));
    expect(late.reject).not.toHaveBeenCalled();
    expect(givenUp).toEqual(["early"]);
    expect(pending.get("early")).toBeUndefined();
    expect(pending.get("late")).toBe(late);
    pass(1000);
    expect(givenUp).toEqual(["early", "late"]);
  });

  test("uses a single timer for all calls, stops it when no call waits, and starts it again", () => {
    const { pending, add, pass } = setUp();
    const calls = Array.from({ length: 10 }, (_, index) => add(String(index)));
    expect(vi.getTimerCount()).toBe(1);
    for (const call of calls) pending.remove(call);
    pass(50);
    expect(vi.getTimerCount()).toBe(0);
    const next = add("next", 500);
    pass(600);
    expect(next.reject).toHaveBeenCalledOnce();
    pass(50);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("rejectAll ends everything at once, and later calls still expire", () => {
    const { pending, add, pass, givenUp } = setUp();
    const calls = [add("a"), add("b")];
    pending.rejectAll(() => new Error("gone"));
    for (const call of calls) expect(call.reject).toHaveBeenCalledExactlyOnceWith(new Error("gone"));
    expect(givenUp).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
    const next = add("c", 100);
    pass(200);
    expect(next.reject).toHaveBeenCalledOnce();
  });

  test("an aborted call is given up, and an ended call no longer listens to its signal", () => {
    const { pending, add, givenUp } = setUp();
    const controller = new AbortController();
    const aborted = add("a", undefined, { signal: controller.signal });
    const ended = add("b", undefined, { signal: controller.signal });
    pending.remove(ended);
    controller.abort("enough");
    expect(aborted.reject).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ code: "aborted", cause: "enough" }),
    );
    expect(ended.reject).not.toHaveBeenCalled();
    expect(givenUp).toEqual(["a"]);
  });

  test("whenEmpty waits for the last call, and resolves at once if there is none", async () => {
    const { pending, add } = setUp();
    await pending.whenEmpty();
    const [first, second] = [add("a"), add("b")];
    const isEmpty = vi.fn();
    const waiting = Promise.all([pending.whenEmpty().then(isEmpty), pending.whenEmpty().then(isEmpty)]);
    pending.remove(first);
    await Promise.resolve();
    expect(isEmpty).not.toHaveBeenCalled();
    pending.remove(second);
    await waiting;
    expect(isEmpty).toHaveBeenCalledTimes(2);
    pending.rejectAll(() => new Error());
  });
});
