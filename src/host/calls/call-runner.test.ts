import { afterEach, expect, test, vi } from "vitest";
import type { CallContext } from "../../plugin/call-context.ts";
import { plugin } from "../../plugin/plugin.ts";
import { core } from "../../protocol/core.ts";
import type { Message } from "../../protocol/envelope.ts";
import { A2EError } from "../../protocol/errors.ts";
import {
  createGate,
  echo,
  probe,
  probePlugin,
  type RawPeer,
  type Run,
  side,
  sidePlugin,
  startRawHost,
} from "../session/raw-session.suite.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Timers and the monotonic clock move when told; what hands lines over does not stop. */
function fakeTime(): void {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout", "performance", "Date"] });
}

test("never more than maxParallelCalls run, and those that wait start in the order in which they came", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)], { limits: { maxParallelCalls: 2 } });
  const peer = await raw.open();
  const names = ["a", "b", "c", "d", "e", "f"];
  for (const name of names) peer.request(name, name);
  for (const name of names) {
    await vi.waitFor(() => expect(gate.started).toContain(name));
    gate.release(name);
    await peer.answer(name);
  }
  expect(gate.started).toEqual(names);
  expect(gate.maxRunning).toBe(2);
});

test("the handshake tells maxParallelCalls as max_parallel", async () => {
  await using raw = await startRawHost(undefined, { limits: { maxParallelCalls: 3 } });
  expect(await raw.connect().shakeHands()).toMatchObject({ max_parallel: 3 });
});

test("beyond maxQueuedCalls a call is rate_limited with retry_after_ms, and may come again under its id", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)], { limits: { maxParallelCalls: 1, maxQueuedCalls: 1 } });
  const peer = await raw.open();
  for (const name of ["a", "b", "c"]) peer.request(name, name);
  const refusal = await peer.answer("c");
  expect(refusal).toMatchObject({ code: "rate_limited", retryable: true, detail: { limit: "maxQueuedCalls" } });
  expect((refusal.detail as { retry_after_ms: number }).retry_after_ms).toBeGreaterThan(0);
  gate.release("a");
  await peer.answer("a");
  peer.request("c", "c");
  gate.release("b");
  await peer.answer("b");
  await vi.waitFor(() => expect(gate.started).toContain("c"));
  gate.release("c");
  await peer.until(() => peer.answers("c").length === 2);
  expect(peer.answers("c")[1]).toMatchObject({ value: "c" });
});

test("control calls get through when every slot and every place in the queue is taken", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)], { limits: { maxParallelCalls: 1, maxQueuedCalls: 1 } });
  const peer = await raw.open();
  for (const name of ["a", "b", "c"]) peer.request(name, name);
  await peer.settle();
  expect(await peer.shakeHands()).toMatchObject({ ok: true });
  peer.send({ type: "invoke/cancel/req", id: "x", call_id: "a" });
  expect(await peer.answer("x")).toMatchObject({ cancelled: true });
});

test("calls of one session do not take the slots of another", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run, echo)], { limits: { maxParallelCalls: 1 } });
  const busy = await raw.open();
  busy.request("1", "a");
  const other = await raw.open();
  expect(await other.ask("1", "free", "test/other/req")).toMatchObject({ value: "free" });
});

test("a long queue of calls that end at once is worked off without growing the stack", async () => {
  const gate = createGate();
  const count = 20_000;
  await using raw = await startRawHost([probePlugin(gate.run, echo)], {
    limits: { maxParallelCalls: 1, maxQueuedCalls: count },
  });
  const peer = await raw.open();
  peer.request("first", "first");
  for (let index = 0; index < count; index++) peer.request(`${index}`, `${index}`, "test/other/req");
  gate.release("first");
  expect(await peer.answer(`${count - 1}`)).toMatchObject({ value: `${count - 1}` });
  expect(raw.log.entries).toEqual([]);
});

test("a call that never settles is answered with timeout after callTimeoutMs, and its signal says so", async () => {
  fakeTime();
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)], { limits: { callTimeoutMs: 1_000 } });
  const peer = await raw.open();
  peer.request("1", "a");
  const { signal } = gate.contexts.get("a") as CallContext;
  await vi.advanceTimersByTimeAsync(900);
  await peer.settle();
  expect(peer.answers("1")).toEqual([]);
  await vi.advanceTimersByTimeAsync(200);
  expect(await peer.answer("1")).toMatchObject({
    code: "timeout",
    retryable: true,
    detail: { timeout_seconds: 1 },
  });
  expect(signal.reason).toMatchObject({ code: "timeout" });
  gate.release("a");
  await peer.settle();
  expect(peer.answers("1")).toHaveLength(1);
});

test("a handler may shorten or lengthen its time, counted from the start of the call", async () => {
  fakeTime();
  const contexts: CallContext[] = [];
  const hang: Run = (_, context) => {
    contexts.push(context);
    return new Promise(() => {});
  };
  await using raw = await startRawHost([probePlugin(hang)], { limits: { callTimeoutMs: 1_000 } });
  const peer = await raw.open();
  peer.request("short");
  peer.request("long");
  await vi.advanceTimersByTimeAsync(100);
  contexts[0]?.setTimeout(150);
  contexts[1]?.setTimeout(5_000);
  for (const nonsense of [0, -1, Number.NaN]) contexts[1]?.setTimeout(nonsense);
  await vi.advanceTimersByTimeAsync(100);
  expect(await peer.answer("short")).toMatchObject({ code: "timeout", detail: { timeout_seconds: 0.15 } });
  await vi.advanceTimersByTimeAsync(2_000);
  await peer.settle();
  expect(peer.answers("long")).toEqual([]);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await peer.answer("long")).toMatchObject({ detail: { timeout_seconds: 5 } });
});

test("no handler gets more than maxCallTimeoutMs", async () => {
  fakeTime();
  const hang: Run = (_, context) => {
    context.setTimeout(Number.POSITIVE_INFINITY);
    return new Promise(() => {});
  };
  await using raw = await startRawHost([probePlugin(hang)], { limits: { maxCallTimeoutMs: 2_000 } });
  const peer = await raw.open();
  peer.request("1");
  await vi.advanceTimersByTimeAsync(2_100);
  expect(await peer.answer("1")).toMatchObject({ code: "timeout", detail: { timeout_seconds: 2 } });
});

test("time in the queue is not time of the call", async () => {
  fakeTime();
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)], {
    limits: { callTimeoutMs: 1_000, maxParallelCalls: 1 },
  });
  const peer = await raw.open();
  peer.request("1", "a");
  peer.request("2", "b");
  await vi.advanceTimersByTimeAsync(1_100);
  expect(await peer.answer("1")).toMatchObject({ code: "timeout" });
  await vi.advanceTimersByTimeAsync(500);
  gate.release("b");
  expect(await peer.answer("2")).toMatchObject({ value: "b" });
});

async function cancel(peer: RawPeer, call_id: string, reason?: string) {
  const id = `cancel-${call_id}-${peer.received.length}`;
  peer.send({ type: "invoke/cancel/req", id, call_id, reason });
  return peer.answer(id);
}

test("a running call is cancelled: answered once, its signal aborted with the reason, its slot free", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)], { limits: { maxParallelCalls: 1 } });
  const peer = await raw.open();
  peer.request("1", "a");
  peer.request("2", "b");
  const { signal } = gate.contexts.get("a") as CallContext;
  expect(await cancel(peer, "1", "changed my mind")).toMatchObject({ cancelled: true });
  expect(peer.answers("1")).toMatchObject([{ code: "cancelled", message: "changed my mind", retryable: false }]);
  expect(signal.aborted).toBe(true);
  expect(signal.reason).toMatchObject({ code: "cancelled", message: "changed my mind" });
  gate.release("a");
  gate.release("b");
  await peer.answer("2");
  expect(peer.answers("1")).toHaveLength(1);
});

test("a call that waits is cancelled without ever running", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)], { limits: { maxParallelCalls: 1 } });
  const peer = await raw.open();
  for (const name of ["a", "b", "c"]) peer.request(name, name);
  expect(await cancel(peer, "b")).toMatchObject({ cancelled: true });
  expect(peer.answers("b")).toMatchObject([{ code: "cancelled" }]);
  gate.release("a");
  await vi.waitFor(() => expect(gate.started).toEqual(["a", "c"]));
});

test("a waiting call that is cancelled leaves its place in the queue to another", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)], { limits: { maxParallelCalls: 1, maxQueuedCalls: 1 } });
  const peer = await raw.open();
  for (const name of ["a", "b"]) peer.request(name, name);
  await cancel(peer, "b");
  peer.request("c", "c");
  gate.release("a");
  await vi.waitFor(() => expect(gate.started).toEqual(["a", "c"]));
  gate.release("c");
  expect(await peer.answer("c")).toMatchObject({ value: "c" });
});

test("a call that has ended is watched for its timeout no longer", async () => {
  fakeTime();
  await using raw = await startRawHost([probePlugin(async ({ name }) => ({ value: name }))]);
  const peer = await raw.open();
  const before = vi.getTimerCount();
  for (let count = 0; count < 10; count++) await peer.ask(`${count}`);
  await vi.advanceTimersByTimeAsync(100);
  expect(vi.getTimerCount()).toBe(before);
});

test("a call that has ended, one that never was and a control call are not cancelled", async () => {
  await using raw = await startRawHost();
  const peer = await raw.open();
  await peer.ask("1", "a");
  expect(await cancel(peer, "1")).toMatchObject({ cancelled: false });
  expect(await cancel(peer, "nobody")).toMatchObject({ cancelled: false });
  peer.send({ type: "invoke/cancel/req", id: "self", call_id: "self" });
  expect(await peer.answer("self")).toMatchObject({ cancelled: false });
  expect(await cancel(peer, "")).toMatchObject({ code: "schema_violation" });
  expect(peer.answers("1")).toHaveLength(1);
});

test("one session cannot cancel the call of another", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)]);
  const [one, other] = [await raw.open(), await raw.open()];
  one.request("1", "a");
  expect(await cancel(other, "1")).toMatchObject({ cancelled: false });
  gate.release("a");
  expect(await one.answer("1")).toMatchObject({ value: "a" });
});

test("a signal first looked at after the end is aborted, with the error of the end where there was one", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)]);
  const peer = await raw.open();
  peer.request("1", "a");
  peer.request("2", "b");
  await cancel(peer, "1", "why");
  gate.release("b");
  await peer.answer("2");
  expect(gate.contexts.get("a")?.signal.reason).toMatchObject({ message: "why" });
  expect(gate.contexts.get("b")?.signal.aborted).toBe(true);
  expect(gate.contexts.get("b")?.isEnded).toBe(true);
});

test("events count from 1 and all come before the answer", async () => {
  await using raw = await startRawHost([
    probePlugin(async ({ name }, context) => {
      context.emit("progress", { percent: 1 });
      await Promise.resolve();
      context.emit("own kind", { percent: 2 });
      context.emit("log", "text" as never);
      return { value: name };
    }),
  ]);
  const peer = await raw.open();
  peer.request("1");
  await peer.answer("1");
  expect(peer.events("1")).toMatchObject([
    { type: "invoke/event", kind: "progress", data: { percent: 1 }, seq: 1, req_id: "1", a2e: "1.0", version: "1.0" },
    { kind: "own kind", data: { percent: 2 }, seq: 2 },
    { kind: "log", data: { value: "text" }, seq: 3 },
  ]);
  expect(peer.received.findIndex(({ req_id }) => req_id === "1")).toBe(peer.received.length - 4);
  expect(peer.received.at(-1)).toMatchObject({ type: "test/run/resp" });
});

test("each call counts its own events, and they have the event type of their capability", async () => {
  const emitting: Run = async (_, context) => {
    context.emit("status", {});
    await Promise.resolve();
    context.emit("status", {});
    return { value: "" };
  };
  await using raw = await startRawHost([probePlugin(emitting), sidePlugin(emitting)]);
  const peer = await raw.open();
  peer.request("1");
  peer.request("2", "", "env/run/req");
  await peer.answer("1");
  await peer.answer("2");
  expect(peer.events("1").map(({ seq, type }) => [seq, type])).toEqual([
    [1, "invoke/event"],
    [2, "invoke/event"],
  ]);
  expect(peer.events("2").map(({ seq, type }) => [seq, type])).toEqual([
    [1, "env/event"],
    [2, "env/event"],
  ]);
});

test("an event without a JSON form is logged, leaves no hole in the count and does not fail the call", async () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  await using raw = await startRawHost([
    probePlugin((_, context) => {
      context.emit("status", { first: true });
      context.emit("status", cyclic as never);
      context.emit("status", { big: 1n as never });
      context.emit("status", { last: true });
      return { value: "fine" };
    }),
  ]);
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({ value: "fine" });
  expect(peer.events("1").map(({ seq, data }) => [seq, data])).toEqual([
    [1, { first: true }],
    [2, { last: true }],
  ]);
  expect(raw.log.entries.filter(({ message }) => message === "event has no JSON form")).toHaveLength(2);
});

test("events beyond maxEventsPerCall are dropped, the log says so once, and the answer comes", async () => {
  await using raw = await startRawHost(
    [
      probePlugin((_, context) => {
        for (let count = 0; count < 10; count++) context.emit("progress", { count });
        return { value: "done" };
      }),
    ],
    { limits: { maxEventsPerCall: 3 } },
  );
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({ value: "done" });
  expect(peer.events("1").map(({ seq }) => seq)).toEqual([1, 2, 3]);
  expect(raw.log.entries.filter(({ fields }) => fields.limit === "maxEventsPerCall")).toHaveLength(1);
});

test.each(["answer", "cancel", "error"])("an event after the end by %s goes nowhere", async (end) => {
  const gate = createGate();
  const run: Run = async (request, context) => {
    const result = await gate.run(request, context);
    if (end === "error") throw new A2EError("probe_failed", "on purpose");
    return result;
  };
  await using raw = await startRawHost([probePlugin(run)]);
  const peer = await raw.open();
  peer.request("1", "a");
  if (end === "cancel") await cancel(peer, "1");
  else gate.release("a");
  await peer.answer("1");
  gate.contexts.get("a")?.emit("status", { late: true });
  await peer.settle();
  expect(peer.events("1")).toEqual([]);
});

test("a nested call is answered in process, with its defaults filled, and shows on the wire as nothing", async () => {
  await using raw = await startRawHost([
    probePlugin(async (_, context) => {
      const inner = await context.call(probe.calls.other, {});
      return { value: `inner said ${JSON.stringify(inner)}` };
    }),
  ]);
  const peer = await raw.open();
  const before = peer.received.length;
  expect(await peer.ask("1")).toMatchObject({ value: 'inner said {"value":""}' });
  expect(peer.received.length - before).toBe(1);
});

test("a nested call passes the same gate: what its agent did not negotiate it does not get", async () => {
  await using raw = await startRawHost([
    probePlugin((_, context) => context.call(side.calls.run, { name: "x" })),
    sidePlugin(),
  ]);
  const narrow = await raw.open({ agent_caps: ["test"] });
  expect(await narrow.ask("1")).toMatchObject({ code: "capability_missing", capability_name: "env" });
  const wide = await raw.open();
  expect(await wide.ask("1")).toMatchObject({ value: "x" });
});

test("a nested call of a type the host lacks, or of the wrong shape, is refused", async () => {
  await using raw = await startRawHost([
    probePlugin(
      (_, context) => context.call(side.calls.run, { name: "x" }),
      (_, context) => context.call(probe.calls.run, { name: 7 as never }),
    ),
  ]);
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({ code: "unknown_type" });
  expect(await peer.ask("2", "", "test/other/req")).toMatchObject({ code: "schema_violation" });
});

test("a nested call runs in the slot of its parent, so maxParallelCalls cannot lock it out", async () => {
  await using raw = await startRawHost(
    [
      probePlugin(
        async (_, context) => context.call(probe.calls.other, { name: "inner" }),
        async ({ name }) => ({ value: name }),
      ),
    ],
    { limits: { maxParallelCalls: 1, maxQueuedCalls: 0 } },
  );
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({ value: "inner" });
});

test("events of a nested call reach its caller, counted; a caller that throws at them hurts nobody", async () => {
  const seen: unknown[] = [];
  const inner: Run = (_, context) => {
    context.emit("progress", { step: 1 });
    context.emit("progress", { step: 2 });
    return { value: "inner" };
  };
  await using raw = await startRawHost([
    probePlugin(
      (_, context) =>
        context.call(
          probe.calls.other,
          {},
          {
            onEvent(event) {
              seen.push(event);
              throw new Error("not interested");
            },
          },
        ),
      inner,
    ),
  ]);
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({ value: "inner" });
  expect(seen).toMatchObject([
    { kind: "progress", data: { step: 1 }, seq: 1 },
    { kind: "progress", data: { step: 2 }, seq: 2 },
  ]);
  expect(peer.events("1")).toEqual([]);
});

test("errors travel through nested calls with code, detail and retryable", async () => {
  await using raw = await startRawHost([
    probePlugin(
      (_, context) => context.call(probe.calls.other, {}),
      () => {
        throw probe.error("probe_failed", "deep down", { detail: { at: "the bottom" } });
      },
    ),
  ]);
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({
    code: "probe_failed",
    message: "deep down",
    detail: { at: "the bottom" },
    retryable: true,
    capability_name: "test",
  });
});

test("a nested call has a timeout of its own", async () => {
  fakeTime();
  await using raw = await startRawHost([
    probePlugin(
      (_, context) => context.call(probe.calls.other, {}, { timeoutMs: 50 }),
      () => new Promise(() => {}),
    ),
  ]);
  const peer = await raw.open();
  peer.request("1");
  await vi.advanceTimersByTimeAsync(100);
  expect(await peer.answer("1")).toMatchObject({ code: "timeout", detail: { timeout_seconds: 0.05 } });
});

test("a nested call ends with its parent, and with the signal it was given", async () => {
  const gate = createGate();
  const controller = new AbortController();
  const outcomes: unknown[] = [];
  await using raw = await startRawHost([
    probePlugin(async (_, context) => {
      await context.call(probe.calls.other, { name: "aborted" }, { signal: controller.signal }).catch((error) => {
        outcomes.push(error);
      });
      await context.call(probe.calls.other, { name: "orphaned" }).catch((error) => {
        outcomes.push(error);
      });
      await context.call(probe.calls.other, { name: "late" }).catch((error) => {
        outcomes.push(error);
      });
      return { value: "nobody hears this" };
    }, gate.run),
  ]);
  const peer = await raw.open();
  peer.request("1");
  controller.abort();
  await vi.waitFor(() => expect(gate.started).toEqual(["aborted", "orphaned"]));
  expect(gate.contexts.get("aborted")?.signal.aborted).toBe(true);
  await cancel(peer, "1");
  expect(gate.contexts.get("orphaned")?.signal.reason).toMatchObject({ code: "cancelled" });
  await vi.waitFor(() => expect(outcomes).toHaveLength(3));
  expect(outcomes).toMatchObject([{ code: "cancelled" }, { code: "cancelled" }, { code: "cancelled" }]);
  expect(gate.started).not.toContain("late");
});

test("a nested call whose handler ends its parent, be it before it returns, ends with it", async () => {
  const seen: unknown[] = [];
  await using raw = await startRawHost([
    probePlugin(
      async (_, context) => {
        await context.call(probe.calls.other, { name: "a" }).catch(({ code }) => seen.push(code));
        return { value: "nobody hears this" };
      },
      (_, context) => {
        peer.session.cancel("1", "");
        seen.push(context.isEnded, context.signal.aborted);
        return { value: "nor this" };
      },
    ),
  ]);
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({ code: "cancelled" });
  await vi.waitFor(() => expect(seen).toEqual([true, true, "cancelled"]));
});

test("a nested call that nobody waits for ends with its parent and leaves no unhandled rejection", async () => {
  const gate = createGate();
  await using raw = await startRawHost([
    probePlugin((_, context) => {
      void context.call(probe.calls.other, { name: "forgotten" });
      return { value: "done" };
    }, gate.run),
  ]);
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({ value: "done" });
  expect(gate.contexts.get("forgotten")?.isEnded).toBe(true);
  await new Promise((resolve) => setImmediate(resolve));
});

test("calls nested deeper than maxCallDepth are refused", async () => {
  let depth = 0;
  const recursive: Run = (_, context) => {
    depth += 1;
    return context.call(probe.calls.run, {});
  };
  await using raw = await startRawHost([probePlugin(recursive)], { limits: { maxCallDepth: 5 } });
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({ code: "runtime_error", retryable: false });
  expect(depth).toBe(6);
});

test("the context of a call names its session, its principal and the id of the request", async () => {
  let seen: CallContext | undefined;
  const looking = plugin(probe, {
    session: () => ({
      handlers: {
        other: echo,
        run: (_, context) => {
          seen = context;
          return { value: "" };
        },
      },
    }),
  });
  await using raw = await startRawHost([looking], { authToken: "secret" });
  const peer = await raw.open({ auth_token: "secret", agent_id: "me" });
  await peer.ask("the id");
  expect(seen?.id).toBe("the id");
  expect(seen?.session).toMatchObject({
    id: peer.session.id,
    principal: { id: "token", agentId: "me", isAuthenticated: true },
  });
});

test("an agent in process that cancels a call from within its answer gets one answer", async () => {
  await using raw = await startRawHost();
  const session = raw.host.sessions.create();
  const received: Message[] = [];
  session.bindTransport({
    deliver(message) {
      received.push(structuredClone(message));
      if (message.req_id === "call" && message.type !== "error")
        session.receiveMessage({ type: core.calls.cancel.type, id: "cancel", version: "1.0", call_id: "call" });
    },
    closed() {},
  });
  session.receiveMessage({ type: "handshake/req", id: "hands", version: "1.0", agent_id: "a", agent_caps: ["test"] });
  session.receiveMessage({ type: "test/run/req", id: "call", version: "1.0", name: "a" });
  expect(received.filter(({ req_id }) => req_id === "call")).toHaveLength(1);
  expect(received.find(({ req_id }) => req_id === "cancel")).toMatchObject({ cancelled: false });
  expect(session.pendingCalls).toBe(0);
});

test("a handler gets the traceparent of its message, and so do the calls that it makes", async () => {
  const seen: (string | undefined)[] = [];
  const outer = probePlugin(async ({ name }, context) => {
    seen.push(context.traceparent);
    if (name === "outer") await context.call("test/run/req", { name: "inner" });
    return { value: name };
  });
  await using raw = await startRawHost([outer]);
  const peer = await raw.open();
  peer.send({ type: "test/run/req", id: "1", name: "outer", traceparent: "00-a-b-01" });
  await peer.answer("1");
  await peer.ask("2", "without");
  peer.send({ type: "test/run/req", id: "3", name: "odd", traceparent: 7 });
  await peer.answer("3");
  expect(seen).toEqual(["00-a-b-01", "00-a-b-01", undefined, undefined]);
});
