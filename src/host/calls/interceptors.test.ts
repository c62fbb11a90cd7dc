import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { SessionContext } from "../../plugin/plugin.ts";
import { A2EError } from "../../protocol/errors.ts";
import { probe, probePlugin, side, sidePlugin, startRawHost } from "../session/raw-session.suite.ts";
import type { InterceptedCall, Interceptor } from "./interceptors.ts";

/** Notes when a call passes on its way in and out. */
function noting(name: string, notes: string[]): Interceptor {
  return (next) => (call) => {
    notes.push(`${name} in`);
    const result = next(call);
    notes.push(`${name} out`);
    return result;
  };
}

/** Leaves the calls of the core alone, such as the handshake. */
function onlyProbe(intercept: Interceptor): Interceptor {
  return (next) => {
    const inner = intercept(next);
    return (call) => (call.capability === probe.name ? inner(call) : next(call));
  };
}

test("the first interceptor is the outermost, and a handler that answers at once does so before any of them returns to the loop", async () => {
  const notes: string[] = [];
  const plugin = probePlugin(() => {
    notes.push("handler");
    return { value: "done" };
  });
  const interceptors = ["a", "b"].map((name) => onlyProbe(noting(name, notes)));
  await using raw = await startRawHost([plugin], { interceptors });
  const peer = await raw.open();

  peer.request("1", "x");
  peer.read();

  expect(peer.answers("1")).toMatchObject([{ value: "done" }]);
  expect(notes).toEqual(["a in", "b in", "handler", "b out", "a out"]);
});

test("interceptors are composed once, when the host starts", async () => {
  let composed = 0;
  const interceptor: Interceptor = (next) => {
    composed += 1;
    return next;
  };
  await using raw = await startRawHost([probePlugin()], { interceptors: [interceptor] });
  const [one, other] = [await raw.open(), await raw.open()];
  await one.ask("1", "x");
  await other.ask("1", "x");
  expect(composed).toBe(1);
});

test("an interceptor sees the type, the capability, the name, the id, the request, the session and the time of a call", async () => {
  const seen: InterceptedCall[] = [];
  const interceptor = onlyProbe((next) => (call) => {
    seen.push(call);
    return next(call);
  });
  await using raw = await startRawHost([probePlugin()], { interceptors: [interceptor] });
  const peer = await raw.open({ agent_id: "ada" });
  await peer.ask("1", "x", probe.calls.other.type);
  expect(seen).toHaveLength(1);
  const [call] = seen as [InterceptedCall];
  expect(call).toMatchObject({ type: "test/other/req", capability: "test", name: "other", id: "1" });
  expect(call.request).toEqual({ name: "x", data: {} });
  expect(call.session).toMatchObject({ id: peer.session.id, principal: { agentId: "ada" } });
  expect([call.isNested, call.caller, call.hasChosenId]).toEqual([false, undefined, false]);
  expect(call.startedAt).toBeGreaterThan(0);
});

test("calls of the host's own pass as well, such as the handshake and a snapshot", async () => {
  const types: string[] = [];
  const interceptor: Interceptor = (next) => (call) => {
    types.push(`${call.capability} ${call.type}`);
    return next(call);
  };
  await using raw = await startRawHost([probePlugin()], { interceptors: [interceptor] });
  const peer = await raw.open();
  await peer.ask("1", "", "session/snapshot/req");
  expect(types).toEqual(["core handshake/req", "core session/snapshot/req"]);
});

test("a message that is not admitted reaches no interceptor", async () => {
  let count = 0;
  const interceptor: Interceptor = (next) => (call) => {
    count += 1;
    return next(call);
  };
  await using raw = await startRawHost([probePlugin(), sidePlugin()], { interceptors: [interceptor] });
  const peer = await raw.open({ agent_caps: ["test"] });
  const before = count;
  expect(await peer.ask("1", "x", side.calls.run.type)).toMatchObject({ code: "capability_missing" });
  peer.send({ type: probe.calls.run.type, id: "2", name: 42 });
  expect(await peer.answer("2")).toMatchObject({ code: "schema_violation" });
  await peer.ask("3", "x");
  // The same request again is answered from memory.
  await peer.ask("3", "x");
  expect(count - before).toBe(1);
});

describe("an interceptor that throws", () => {
  test("an A2EError refuses the call: the handler does not run, and the audit log has the code", async () => {
    let runs = 0;
    const plugin = probePlugin(() => {
      runs += 1;
      return { value: "" };
    });
    const refuse = onlyProbe((next) => (call) => {
      if (call.request.name === "secret") throw new A2EError("forbidden", "not this one");
      return next(call);
    });
    await using raw = await startRawHost([plugin], { interceptors: [refuse] });
    const peer = await raw.open();
    expect(await peer.ask("1", "secret")).toMatchObject({ code: "forbidden", message: "not this one" });
    expect(await peer.ask("2", "open")).toMatchObject({ type: "test/run/resp" });
    expect(runs).toBe(1);
    expect(raw.audit.find(({ req_id }) => req_id === "1")).toMatchObject({ success: false, error_code: "forbidden" });
  });

  test("another error shows the peer nothing and is logged", async () => {
    const broken = onlyProbe(() => () => {
      throw new Error("a password");
    });
    await using raw = await startRawHost([probePlugin()], { interceptors: [broken] });
    const peer = await raw.open();
    const answer = await peer.ask("1", "x");
    expect(answer).toMatchObject({ code: "internal_error" });
    expect(JSON.stringify(answer)).not.toContain("password");
    expect(raw.log.entries).toMatchObject([{ level: "error", fields: { error: { message: "a password" } } }]);
  });

  test("after a promise does so as well, and an error of the handler can be caught", async () => {
    const plugin = probePlugin(() => {
      throw new A2EError("probe_failed", "on purpose");
    });
    const interceptor = onlyProbe((next) => async (call) => {
      await nextTurn();
      try {
        return await next(call);
      } catch (error) {
        if (call.request.name === "caught") return { value: (error as A2EError).code };
        throw new A2EError("rate_limited", "later");
      }
    });
    await using raw = await startRawHost([plugin], { interceptors: [interceptor] });
    const peer = await raw.open();
    expect(await peer.ask("1", "caught")).toMatchObject({ value: "probe_failed" });
    expect(await peer.ask("2", "not caught")).toMatchObject({ code: "rate_limited", retryable: true });
  });
});

describe("an interceptor that changes", () => {
  test("the request gives the handler another one, with the defaults of the table", async () => {
    const plugin = probePlugin((request) => ({ value: JSON.stringify(request) }));
    const interceptor = onlyProbe((next) => (call) => {
      call.request = { name: `${String(call.request.name)}!` };
      return next(call);
    });
    await using raw = await startRawHost([plugin], { interceptors: [interceptor] });
    const peer = await raw.open();
    expect(await peer.ask("1", "x")).toMatchObject({ value: '{"name":"x!","data":{}}' });
  });

  test("the request to one that the table does not allow fails the call", async () => {
    const interceptor = onlyProbe((next) => (call) => {
      call.request = { name: 42 };
      return next(call);
    });
    await using raw = await startRawHost([probePlugin()], { interceptors: [interceptor] });
    const peer = await raw.open();
    expect(await peer.ask("1", "x")).toMatchObject({ code: "schema_violation" });
  });

  test("the result has it checked against the table as usual", async () => {
    const interceptor = onlyProbe((next) => async (call) => {
      const { value } = await next(call);
      return call.request.name === "wrong" ? { value: 42 } : { value: `${String(value)}!`, unknown: true };
    });
    await using raw = await startRawHost([probePlugin()], { interceptors: [interceptor] });
    const peer = await raw.open();
    const answer = await peer.ask("1", "x");
    expect(answer).toMatchObject({ value: "x!" });
    expect(answer).not.toHaveProperty("unknown");
    expect(await peer.ask("2", "wrong")).toMatchObject({ code: "internal_error" });
    expect(raw.log.entries).toMatchObject([{ fields: { type: "test/run/req" } }]);
  });

  test("the call object itself is told so", async () => {
    const interceptor = onlyProbe((next) => (call) => next({ ...call }));
    await using raw = await startRawHost([probePlugin()], { interceptors: [interceptor] });
    const peer = await raw.open();
    expect(await peer.ask("1", "x")).toMatchObject({ code: "internal_error" });
    expect(raw.log.entries).toMatchObject([{ fields: { error: { name: "TypeError" } } }]);
  });
});

test("a request that every plugin declines is an error for the interceptors as well", async () => {
  const codes: string[] = [];
  const interceptor = onlyProbe((next) => async (call) => {
    try {
      return await next(call);
    } catch (error) {
      codes.push((error as A2EError).code);
      throw error;
    }
  });
  await using raw = await startRawHost([probePlugin(() => undefined)], { interceptors: [interceptor] });
  const peer = await raw.open();
  expect(await peer.ask("1", "x")).toMatchObject({ code: "runtime_error", retryable: false });
  expect(codes).toEqual(["runtime_error"]);
});

test("nested calls pass, with the call that made them, and stay synchronous if everything is", async () => {
  const seen: unknown[] = [];
  const interceptor: Interceptor = (next) => (call) => {
    if (call.isNested) seen.push([call.type, call.caller?.id, call.caller?.type, call.hasChosenId]);
    return next(call);
  };
  const outer = probePlugin((_request, { callNow }) => {
    const inner = callNow(side.calls.run.type, { name: "inner" }, { id: "step-1" });
    return { value: inner instanceof Promise ? "a promise" : String(inner.value) };
  });
  await using raw = await startRawHost([outer, sidePlugin()], { interceptors: [interceptor] });
  const peer = await raw.open();
  expect(await peer.ask("1", "x")).toMatchObject({ value: "inner" });
  expect(seen).toEqual([[side.calls.run.type, "1", probe.calls.run.type, true]]);
});

test("a nested call that is refused fails for the handler that made it", async () => {
  const refuse: Interceptor = (next) => (call) => {
    if (call.isNested) throw new A2EError("forbidden", "not from within");
    return next(call);
  };
  const outer = probePlugin(async (_request, { call }) => {
    const outcome = call(side.calls.run, { name: "inner" });
    return { value: await outcome.then(({ value }) => value).catch((error: A2EError) => error.code) };
  });
  await using raw = await startRawHost([outer, sidePlugin()], { interceptors: [refuse] });
  const peer = await raw.open();
  expect(await peer.ask("1", "x")).toMatchObject({ value: "forbidden" });
});

test("calls in the background pass without a caller", async () => {
  const seen: unknown[] = [];
  const interceptor: Interceptor = (next) => (call) => {
    if (call.isNested) seen.push([call.type, call.caller]);
    return next(call);
  };
  let context: SessionContext | undefined;
  const plugin = probePlugin();
  const remembering = {
    ...plugin,
    session(given: SessionContext) {
      context = given;
      return plugin.session(given);
    },
  };
  await using raw = await startRawHost([remembering], { interceptors: [interceptor] });
  await raw.open();
  expect(await context?.call(probe.calls.run, { name: "by itself" })).toMatchObject({ value: "by itself" });
  expect(seen).toEqual([[probe.calls.run.type, undefined]]);
});

test("a call that a handler could do in place is made, so that it passes", async () => {
  const seen: unknown[] = [];
  const interceptor: Interceptor = (next) => (call) => {
    if (call.isNested) seen.push([call.type, call.request.name]);
    return next(call);
  };
  const calling = probePlugin((_request, { inlineCall, callNow }) => {
    const { type } = side.calls.run;
    const result = inlineCall(type, () => ({ value: "in place" })) ?? callNow(type, { name: "by a call" });
    return { value: String((result as { value: string }).value) };
  });
  await using raw = await startRawHost([calling, sidePlugin()], { interceptors: [interceptor] });
  const peer = await raw.open();
  expect(await peer.ask("1", "x")).toMatchObject({ value: "by a call" });
  expect(seen).toEqual([[side.calls.run.type, "by a call"]]);
});

test("events of a handler come before the answer that an interceptor holds back", async () => {
  const plugin = probePlugin((_request, { emit }) => {
    emit("progress", { step: 1 });
    return { value: "done" };
  });
  const slow = onlyProbe((next) => async (call) => {
    const result = await next(call);
    await nextTurn();
    return result;
  });
  await using raw = await startRawHost([plugin], { interceptors: [slow] });
  const peer = await raw.open();
  await peer.ask("1", "x");
  const types = peer.received.filter(({ req_id }) => req_id === "1").map(({ type }) => type);
  expect(types).toEqual(["invoke/event", "test/run/resp"]);
});

test("a call that is cancelled is answered at once, and its signal tells the interceptor", async () => {
  let signal: AbortSignal | undefined;
  const holding = onlyProbe((next) => async (call) => {
    ({ signal } = call);
    await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
    return next(call);
  });
  let runs = 0;
  const plugin = probePlugin(() => {
    runs += 1;
    return { value: "" };
  });
  await using raw = await startRawHost([plugin], { interceptors: [holding] });
  const peer = await raw.open();
  peer.request("1", "x");
  peer.send({ type: "invoke/cancel/req", id: "2", call_id: "1" });
  expect(await peer.answer("1")).toMatchObject({ code: "cancelled" });
  await nextTurn();
  expect(signal?.aborted).toBe(true);
  expect(runs).toBe(0);
  expect(peer.answers("1")).toHaveLength(1);
});

test("the time that an interceptor takes is part of the call's time", async () => {
  const stuck = onlyProbe(() => () => new Promise(() => {}));
  await using raw = await startRawHost([probePlugin()], { interceptors: [stuck], limits: { callTimeoutMs: 20 } });
  const peer = await raw.open();
  expect(await peer.ask("1", "x")).toMatchObject({ code: "timeout" });
});
