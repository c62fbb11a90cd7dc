import { expect, test } from "vitest";
import { silentLogger } from "../plugin/logger.ts";
import type { Principal } from "../plugin/principal.ts";
import { handshake } from "../protocol/core.ts";
import { FakeStore } from "./fake-store.suite.ts";
import { hasQuotas, type QuotaFields, quotaOf } from "./quota-settings.ts";
import { Quotas } from "./quotas.ts";

const none = { default: {}, roles: {}, principals: {} };

function start(fields: QuotaFields) {
  const clock = { time: 0, now: () => clock.time };
  const quotas = new Quotas({
    settings: { ...none, default: fields },
    store: new FakeStore(),
    clock,
    log: silentLogger,
  });
  const agent = (id: string): Principal => ({ id, agentId: "", isAuthenticated: true });
  const call = (principal: Principal, { type = "tool/call/req", isNested = false } = {}) => ({
    type,
    isNested,
    session: { principal },
    signal: new AbortController().signal,
  });
  return { clock, quotas, agent, call };
}

function limitOf(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return (error as { detail: { limit?: string } }).detail.limit;
  }
}

test("two sessions of one principal share calls_per_second, and another principal is not affected", () => {
  const { clock, quotas, agent, call } = start({ calls_per_second: 2, burst: 3 });
  // Two objects: each session has its own.
  const [first, second, other] = [agent("key:a"), agent("key:a"), agent("key:b")];
  for (const principal of [first, second, first]) expect(quotas.run(call(principal), () => "done")).toBe("done");
  expect(() => quotas.run(call(second), () => "done")).toThrow(
    expect.objectContaining({ code: "rate_limited", detail: { limit: "calls_per_second", retry_after_ms: 500 } }),
  );
  expect(quotas.run(call(other), () => "done")).toBe("done");
  clock.time = 500;
  expect(quotas.run(call(second), () => "done")).toBe("done");
  expect(quotas.run(call(first, { type: handshake.type }), () => "done")).toBe("done");
});

test("max_parallel_calls counts calls of all sessions until they end", async () => {
  const { quotas, agent, call } = start({ max_parallel_calls: 1 });
  let finish = () => {};
  const running = quotas.run(call(agent("a")), () => new Promise<void>((resolve) => (finish = resolve)));
  expect(limitOf(() => quotas.run(call(agent("a")), () => 1))).toBe("max_parallel_calls");
  expect(quotas.run(call(agent("a"), { isNested: true }), () => 1)).toBe(1);
  finish();
  await running;
  expect(quotas.run(call(agent("a")), () => 1)).toBe(1);
});

test("a call that was cancelled no longer counts for max_parallel_calls, even if its handler goes on", () => {
  const { quotas, agent, call } = start({ max_parallel_calls: 1 });
  const controller = new AbortController();
  void quotas.run({ ...call(agent("a")), signal: controller.signal }, () => new Promise(() => {}));
  controller.abort();
  expect(quotas.run(call(agent("a")), () => 1)).toBe(1);
});

test("max_sessions counts sessions until they are closed, each once", () => {
  const { quotas, agent } = start({ max_sessions: 1 });
  const closing: (() => void)[] = [];
  const session = () => ({ onClosed: (listener: () => void) => void closing.push(listener) });
  const first = session();
  quotas.openSession(agent("a"), first);
  quotas.openSession(agent("a"), first);
  expect(limitOf(() => quotas.openSession(agent("a"), session()))).toBe("max_sessions");
  expect(limitOf(() => quotas.checkSessions(agent("a")))).toBe("max_sessions");
  quotas.checkSessions(agent("b"));
  for (const close of closing) close();
  quotas.openSession(agent("a"), session());
});

test("bytes_per_second refuses calls until the bytes of earlier ones are paid off", () => {
  const { clock, quotas, agent, call } = start({ bytes_per_second: 1000 });
  const principal = agent("a");
  quotas.run(call(principal), () => 1);
  quotas.countBytes("a", 3000);
  expect(limitOf(() => quotas.run(call(principal), () => 1))).toBe("bytes_per_second");
  clock.time = 2000;
  expect(quotas.run(call(principal), () => 1)).toBe(1);
});

test("the budget of calls also counts nested calls", () => {
  const { quotas, agent, call } = start({ budget: { in_all: { calls: 2 } } });
  quotas.run(call(agent("a")), () => quotas.run(call(agent("a"), { isNested: true }), () => 1));
  expect(() => quotas.run(call(agent("a")), () => 1)).toThrow("budget of 2 calls is used up");
});

test("the most specific section wins for each limit, and of several roles the highest limit counts", () => {
  const settings = {
    default: { max_sessions: 1, calls_per_second: 10, budget: { per_day: { calls: 5 } } },
    roles: {
      small: { max_sessions: 2 },
      large: { max_sessions: 9, budget: { per_day: { calls: "unlimited" as const } } },
    },
    principals: { "key:ci": { calls_per_second: 50 } },
  };
  expect(quotaOf(settings, { id: "key:ci", roles: ["small", "large"] })).toMatchObject({
    maxSessions: 9,
    callsPerSecond: 50,
    perDay: { calls: undefined },
  });
  expect(quotaOf(settings, { id: "constructor", roles: ["small"] })).toMatchObject({
    maxSessions: 2,
    callsPerSecond: 10,
    perDay: { calls: 5 },
  });
  expect(hasQuotas(settings)).toBe(true);
  expect(hasQuotas({ ...none, default: { max_sessions: "unlimited", budget: { per_day: {} } } })).toBe(false);
});
