// Calls of a client whose peer is played by the test.
import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { ping } from "../protocol/core.ts";
import { jsonObject } from "../protocol/json.ts";
import { call } from "../protocol/table/capability.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { watchResources } from "../testing/leaks.ts";
import type { A2EClientError, CallEvent } from "./errors.ts";
import { connectFake } from "./fake-transport.suite.ts";

const paint = call("paint/req", "paint/resp", {
  about: { access: "write" },
  doc: "Paints.",
  request: z.object({ colour: z.string(), options: jsonObject.default({}), streaming: z.boolean().default(false) }),
  result: z.object({ coats: z.int(), note: z.string().default("dry") }),
  example: { request: { colour: "red" }, result: { coats: 1 } },
});

describe("a call", () => {
  test("is sent with its envelope and resolves with the fields of its table, defaults filled", async () => {
    const { client, peer } = await connectFake({ clock: createFakeClock(1_500) });
    const painting = client.rpc(paint, { colour: "red" });
    expect(peer.last).toEqual({
      type: "paint/req",
      id: expect.any(String),
      a2e: "1.0",
      version: "1.0",
      ts: 1.5,
      colour: "red",
    });
    peer.answer(peer.last, "paint/resp", { coats: 2, unknown: 1 });
    await expect(painting).resolves.toEqual({ coats: 2, note: "dry" });
    await client.disconnect();
  });

  test("finds its answer by req_id, in any order of answers", async () => {
    const { client, peer } = await connectFake();
    const calls = Array.from({ length: 50 }, () => client.rpc(paint, { colour: "red" }));
    peer
      .sentOf("paint/req")
      .reverse()
      .forEach((request, index) => {
        peer.answer(request, "paint/resp", { coats: index });
      });
    const answers = await Promise.all(calls);
    expect(answers.map((answer) => answer.coats)).toEqual(Array.from({ length: 50 }, (_, index) => 49 - index));
    await client.disconnect();
  });

  test("is answered once: a later message with its id is ignored", async () => {
    const { client, peer } = await connectFake();
    const painting = client.rpc(paint, { colour: "red" });
    const request = peer.last;
    peer.answer(request, "paint/resp", { coats: 1 });
    peer.answer(request, "error", { code: "internal_error" });
    peer.answer(request, "paint/resp", { coats: 2 });
    await expect(painting).resolves.toMatchObject({ coats: 1 });
    await client.disconnect();
  });

  test("is not answered by messages for others", async () => {
    const { client, peer } = await connectFake();
    const painting = client.rpc(paint, { colour: "red" });
    for (const req_id of ["", "other", 7, null, undefined, [peer.last.id]])
      peer.say("paint/resp", { req_id, coats: 9 });
    peer.say("error", { code: "parse_error" });
    peer.answer(peer.last, "paint/resp", { coats: 1 });
    await expect(painting).resolves.toMatchObject({ coats: 1 });
    await client.disconnect();
  });

  test("ends with the first message that is not an event, even of an unknown type, as sent by hosts in Python", async () => {
    const { client, peer } = await connectFake();
    const painting = client.rpc(paint, { colour: "red" });
    peer.answer(peer.last, "paint/finished", { coats: 3 });
    await expect(painting).resolves.toMatchObject({ coats: 3 });
    await client.disconnect();
  });

  test("rejects with the name of the field if the answer has the wrong shape", async () => {
    const { client, peer } = await connectFake();
    const painting = client.rpc(paint, { colour: "red" });
    peer.answer(peer.last, "paint/resp", { coats: "two" });
    await expect(painting).rejects.toMatchObject({ code: "invalid_answer", message: expect.stringContaining("coats") });
    await client.disconnect();
  });

  test("that cannot be sent rejects at once", async () => {
    const { client, peer } = await connectFake();
    peer.sendError = new Error("pipe is broken");
    await expect(client.rpc(paint, { colour: "red" })).rejects.toMatchObject({
      code: "connection_lost",
      message: "could not send: pipe is broken",
      cause: peer.sendError,
    });
    peer.sendError = undefined;
    peer.events.restored();
    expect(peer.sentOf()).toEqual([]);
    await client.disconnect();
  });

  test("may be answered while it is sent, and the answer counts though sending fails after it", async () => {
    const { client, peer } = await connectFake();
    const { send } = peer.transport;
    let answer = () => peer.answer(peer.last, "paint/resp", { coats: 2 });
    peer.transport.send = (message) => {
      send(message);
      answer();
      throw new Error("pipe is broken");
    };
    await expect(client.rpc(paint, { colour: "red" })).resolves.toMatchObject({ coats: 2 });
    answer = () => peer.answer(peer.last, "error", { code: "tool_not_found", message: "no brush" });
    await expect(client.rpc(paint, { colour: "red" })).rejects.toMatchObject({ code: "tool_not_found" });
    peer.transport.send = send;
    await client.disconnect();
  });

  test("whose fields cannot be read is rejected like any other, not thrown at its caller", async () => {
    const { client, peer } = await connectFake();
    const fault = new Error("no colour yet");
    const request = {
      get colour(): string {
        throw fault;
      },
    };
    await expect(client.rpc(paint, request)).rejects.toBe(fault);
    expect(peer.sentOf()).toEqual([]);
    await client.disconnect();
  });

  test("whose signal is not an AbortSignal is rejected as well, and is not sent when the link is restored", async () => {
    const { client, peer } = await connectFake();
    const options = { signal: { aborted: false } as AbortSignal };
    await expect(client.rpc(paint, { colour: "red" }, options)).rejects.toThrow(TypeError);
    peer.events.restored();
    expect(peer.sentOf()).toEqual([]);
    await client.disconnect();
  });

  test("ping resolves with the round-trip time", async () => {
    const { client, peer } = await connectFake();
    const pinging = client.ping();
    peer.answer(peer.last, "pong");
    expect(await pinging).toBeGreaterThan(0);
    await client.disconnect();
  });
});

describe("an error answer", () => {
  test("is thrown with all its fields and the events before it, in order", async () => {
    const { client, peer } = await connectFake();
    const painting = client.rpc(paint, { colour: "red" });
    for (const seq of [1, 2, 3]) peer.answer(peer.last, "paint/event", { kind: "progress", data: { step: seq }, seq });
    const fields = {
      code: "paint_dry",
      message: "no paint",
      detail: { tin: 0 },
      retryable: true,
      capability_name: "paint",
    };
    peer.answer(peer.last, "error", fields);
    const error = (await painting.catch((thrown: unknown) => thrown)) as A2EClientError;
    expect(error).toMatchObject({ name: "A2EClientError", ...fields, req_id: peer.last.id });
    expect(error.events.map((event) => event.data.step)).toEqual([1, 2, 3]);
    await client.disconnect();
  });

  test.each([
    [{}, "invalid_message"],
    [{ code: 7 }, "invalid_message"],
    [{ code: "x", message: null }, "x"],
    [{ code: "x", detail: "text" }, "x"],
  ])("that is malformed, as %j is, ends the call all the same", async (fields, code) => {
    const { client, peer } = await connectFake();
    const painting = client.rpc(paint, { colour: "red" });
    peer.answer(peer.last, "error", fields);
    await expect(painting).rejects.toMatchObject({ name: "A2EClientError", code });
    await client.disconnect();
  });
});

describe("events", () => {
  test("reach the caller in order before the answer, and request streaming if the request supports it", async () => {
    const { client, peer } = await connectFake();
    const seen: unknown[] = [];
    const painting = client.rpc(paint, { colour: "red" }, { onEvent: (event) => seen.push(event) });
    expect(peer.last.streaming).toBe(true);
    peer.answer(peer.last, "paint/event", { kind: "log", data: { line: "a" }, seq: 1 });
    peer.answer(peer.last, "invoke/event", { data: { line: "b" } });
    peer.answer(peer.last, "paint/resp", { coats: 1 });
    await painting;
    expect(seen).toEqual([
      { kind: "log", data: { line: "a" }, seq: 1 },
      { kind: "status", data: { line: "b" }, seq: 0 },
    ]);
    await client.disconnect();
  });

  test("are not requested if the caller turned streaming off or the request has no such field", async () => {
    const { client, peer } = await connectFake();
    const onEvent = vi.fn();
    const calls = [
      client.rpc(paint, { colour: "red", streaming: false }, { onEvent }),
      client.rpc(ping, {}, { onEvent }),
    ];
    expect(peer.sentOf().map((message) => message.streaming)).toEqual([false, undefined]);
    await Promise.all([client.disconnect(), ...calls.map((pending) => expect(pending).rejects.toThrow())]);
  });

  test.each([
    [{ data: "text" }, { value: "text" }],
    [{ data: 7 }, { value: 7 }],
    [{ data: null }, { value: null }],
    [{ data: [1] }, { value: [1] }],
    [{}, {}],
  ])("of hosts that send %j arrive as an object", async (fields, data) => {
    const { client, peer } = await connectFake();
    const onEvent = vi.fn<(event: CallEvent) => void>();
    const painting = client.rpc(paint, { colour: "red" }, { onEvent });
    peer.answer(peer.last, "paint/event", fields);
    peer.answer(peer.last, "paint/resp", { coats: 1 });
    await painting;
    expect(onEvent.mock.calls).toEqual([[{ kind: "status", data, seq: 0 }]]);
    await client.disconnect();
  });

  test("that cannot be read or come too late are ignored", async () => {
    const { client, peer } = await connectFake();
    const onEvent = vi.fn();
    const late = vi.fn();
    client.onPush("paint/event", late);
    const painting = client.rpc(paint, { colour: "red" }, { onEvent });
    peer.answer(peer.last, "paint/event", { kind: 7 });
    peer.answer(peer.last, "paint/resp", { coats: 1 });
    peer.answer(peer.last, "paint/event", { data: { late: true } });
    await painting;
    expect(onEvent).not.toHaveBeenCalled();
    // It no longer belongs to a call, so it goes to the push handlers of its type.
    expect(late).toHaveBeenCalledOnce();
    await client.disconnect();
  });

  test("a callback that throws does not fail the call; its error surfaces on its own", async () => {
    const { client, peer } = await connectFake();
    const later: (() => void)[] = [];
    vi.stubGlobal("queueMicrotask", (callback: () => void) => later.push(callback));
    const onEvent = () => {
      throw new Error("mine");
    };
    const painting = client.rpc(paint, { colour: "red" }, { onEvent });
    peer.answer(peer.last, "paint/event");
    vi.unstubAllGlobals();
    peer.answer(peer.last, "paint/resp", { coats: 1 });
    await expect(painting).resolves.toMatchObject({ coats: 1 });
    expect(later[0]).toThrow("mine");
    await client.disconnect();
  });
});

describe("giving up", () => {
  test("a call without answer in time is rejected and cancelled on the host", async () => {
    const { client, peer } = await connectFake();
    const painting = client.rpc(paint, { colour: "red" }, { timeoutMs: 1 });
    const request = peer.last;
    await expect(painting).rejects.toMatchObject({ code: "timeout", message: "no answer to paint/req within 1 ms" });
    expect(peer.sentOf("invoke/cancel/req")).toMatchObject([{ call_id: request.id }]);
    peer.answer(request, "paint/resp", { coats: 1 });
    await client.disconnect();
  });

  test("the client's own timeout applies if the call has none; 0 means no timeout", async () => {
    const clock = createFakeClock();
    const { client, peer } = await connectFake({ timeoutMs: 1_000, clock });
    const short = client.rpc(paint, { colour: "red" });
    const endless = client.rpc(paint, { colour: "blue" }, { timeoutMs: 0 });
    clock.advance(1_000_000);
    await expect(short).rejects.toMatchObject({ code: "timeout" });
    peer.answer(peer.sentOf("paint/req")[1] ?? peer.last, "paint/resp", { coats: 1 });
    await expect(endless).resolves.toMatchObject({ coats: 1 });
    await client.disconnect();
  });

  test("an aborted call is rejected and cancelled on the host; other calls continue", async () => {
    const { client, peer } = await connectFake();
    const controller = new AbortController();
    const aborted = client.rpc(paint, { colour: "red" }, { signal: controller.signal });
    const other = client.rpc(paint, { colour: "blue" });
    const [first, second] = peer.sentOf("paint/req");
    controller.abort(new Error("changed my mind"));
    await expect(aborted).rejects.toMatchObject({ code: "aborted", cause: new Error("changed my mind") });
    expect(peer.sentOf("invoke/cancel/req")).toMatchObject([{ call_id: first?.id }]);
    peer.answer(second ?? peer.last, "paint/resp", { coats: 1 });
    await expect(other).resolves.toMatchObject({ coats: 1 });
    await client.disconnect();
  });

  test("a signal aborted before the call sends nothing; a signal aborted after the answer cancels nothing", async () => {
    const { client, peer } = await connectFake();
    await expect(client.rpc(paint, { colour: "red" }, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "aborted",
    });
    expect(peer.sentOf()).toEqual([]);
    const controller = new AbortController();
    const painting = client.rpc(paint, { colour: "red" }, { signal: controller.signal });
    peer.answer(peer.last, "paint/resp", { coats: 1 });
    await painting;
    controller.abort();
    expect(peer.sentOf("invoke/cancel/req")).toEqual([]);
    await client.disconnect();
  });

  test("cancelling over a broken link does not hide the abort", async () => {
    const { client, peer } = await connectFake();
    const controller = new AbortController();
    const painting = client.rpc(paint, { colour: "red" }, { signal: controller.signal });
    peer.sendError = new Error("gone");
    controller.abort();
    await expect(painting).rejects.toMatchObject({ code: "aborted" });
    await client.disconnect();
  });
});

describe("a link that was cut", () => {
  test("and is back gets exactly the unanswered again, under their ids and in their order", async () => {
    const { client, peer } = await connectFake();
    const calls = Array.from({ length: 20 }, (_, index) => client.rpc(paint, { colour: String(index) }));
    const requests = peer.sentOf("paint/req");
    requests.forEach((request, index) => {
      if (index % 2 === 0) peer.answer(request, "paint/resp", { coats: index });
    });
    peer.sent.length = 0;
    peer.events.restored();
    expect(peer.sent).toEqual(requests.filter((_, index) => index % 2 === 1));
    for (const request of peer.sentOf("paint/req"))
      peer.answer(request, "paint/resp", { coats: Number(request.colour) });
    expect((await Promise.all(calls)).map((answer) => answer.coats)).toEqual(calls.map((_, index) => index));
    peer.sent.length = 0;
    peer.events.restored();
    expect(peer.sent).toEqual([]);
    await client.disconnect();
  });

  test("and announces a gap gets unanswered requests again too, and push handlers receive the gap", async () => {
    const { client, peer } = await connectFake();
    const heard = vi.fn();
    client.onPush("session/gap", heard);
    const painting = client.rpc(paint, { colour: "red" });
    peer.say("session/gap", { from: 1, to: 9 });
    const [first, second] = peer.sentOf("paint/req");
    expect(second).toEqual(first);
    expect(heard).toHaveBeenCalledOnce();
    peer.answer(peer.last, "paint/resp", { coats: 1 });
    await painting;
    await client.disconnect();
  });

  test("cut again while repeating: the next restoration repeats the rest", async () => {
    const { client, peer } = await connectFake();
    const painting = client.rpc(paint, { colour: "red" });
    peer.sendError = new Error("cut");
    peer.events.restored();
    peer.sendError = undefined;
    peer.events.restored();
    expect(peer.sentOf("paint/req")).toHaveLength(2);
    peer.answer(peer.last, "paint/resp", { coats: 1 });
    await painting;
    await client.disconnect();
  });
});

describe("retries", () => {
  const retry = { firstDelayMs: 1, maxDelayMs: 2 };

  async function answerAll(peer: Awaited<ReturnType<typeof connectFake>>["peer"], count: number, fields: object) {
    for (let attempt = 1; attempt <= count; attempt++) {
      await vi.waitFor(() => expect(peer.sentOf("paint/req")).toHaveLength(attempt), { interval: 1 });
      peer.answer(peer.last, "error", fields);
    }
  }

  test("repeat a retryable failure under a new id until it succeeds", async () => {
    const { client, peer } = await connectFake({ retry });
    const painting = client.rpc(paint, { colour: "red" });
    await answerAll(peer, 2, { code: "timeout", retryable: true });
    await vi.waitFor(() => expect(peer.sentOf("paint/req")).toHaveLength(3), { interval: 1 });
    peer.answer(peer.last, "paint/resp", { coats: 3 });
    await expect(painting).resolves.toMatchObject({ coats: 3 });
    expect(new Set(peer.sentOf("paint/req").map((message) => message.id)).size).toBe(3);
    await client.disconnect();
  });

  test("stop after all attempts with the last error", async () => {
    const { client, peer } = await connectFake();
    const painting = client.rpc(paint, { colour: "red" }, { retry: { ...retry, maxAttempts: 2 } });
    const ended = expect(painting).rejects.toMatchObject({ code: "timeout" });
    await answerAll(peer, 2, { code: "timeout", retryable: true });
    await ended;
    expect(peer.sentOf("paint/req")).toHaveLength(2);
    await client.disconnect();
  });

  test("are not made for errors that would only come again, nor unless asked for", async () => {
    const { client, peer } = await connectFake();
    for (const [options, retryable] of [
      [{ retry }, false],
      [{}, true],
    ] as const) {
      const painting = client.rpc(paint, { colour: "red" }, options);
      peer.answer(peer.last, "error", { code: "x", retryable });
      await expect(painting).rejects.toMatchObject({ code: "x" });
    }
    expect(peer.sentOf("paint/req")).toHaveLength(2);
    await client.disconnect();
  });

  test("are made when the host asks for them, regardless of the backoff", async () => {
    const { client, peer } = await connectFake({ retry: { firstDelayMs: 1e9, maxDelayMs: 1e9 } });
    const painting = client.rpc(paint, { colour: "red" });
    await answerAll(peer, 1, { code: "rate_limited", retryable: true, detail: { retry_after_ms: 2 } });
    await vi.waitFor(() => expect(peer.sentOf("paint/req")).toHaveLength(2), { interval: 1 });
    peer.answer(peer.last, "paint/resp", { coats: 1 });
    await painting;
    await client.disconnect();
  });

  test("end at once if the caller aborts during a pause", async () => {
    const watch = watchResources();
    const { client, peer } = await connectFake({ retry: { firstDelayMs: 1e6, maxDelayMs: 1e6 } });
    const controller = new AbortController();
    const painting = client.rpc(paint, { colour: "red" }, { signal: controller.signal });
    await answerAll(peer, 1, { code: "timeout", retryable: true });
    await Promise.resolve();
    controller.abort("enough");
    await expect(painting).rejects.toMatchObject({ name: "A2EConnectionError", code: "aborted", cause: "enough" });
    await client.disconnect();
    await watch.expectNothingLeft();
  });
});

describe("an error that a host cannot assign to a call", () => {
  test("a line that was too long for it fails its call, and no other", async () => {
    const { client, peer } = await connectFake();
    const large = client.rpc(ping, { padding: "ä".repeat(600) } as never).catch((error: unknown) => error);
    const small = client.rpc(ping, {});
    const detail = { limit: "maxLineBytes", max_bytes: 1_000 };
    peer.say("error", { code: "invalid_message", message: "line is longer than 1000 bytes", detail });
    expect(await large).toMatchObject({ name: "A2EClientError", code: "invalid_message", detail });
    peer.answer(peer.last, "pong");
    await small;
    await client.disconnect();
  });

  test("an error in another shape is read as far as it can be", async () => {
    const { client, peer } = await connectFake();
    const answer = client.rpc(ping, {}).catch((error: unknown) => error);
    peer.answer(peer.last, "error", { code: "chain_error", error: "it broke", message: null, detail: null });
    expect(await answer).toMatchObject({ code: "chain_error", message: "it broke", detail: {} });
    await client.disconnect();
  });
});

test("of a call with many events only the last are kept for its error", async () => {
  const { client, peer } = await connectFake();
  let heard = 0;
  const answer = client.rpc(ping, {}, { onEvent: () => (heard += 1) }).catch((error: unknown) => error);
  const request = peer.last;
  for (let seq = 1; seq <= 5_000; seq++) peer.answer(request, "invoke/event", { seq });
  peer.answer(request, "error", { code: "runtime_error" });
  const { events } = (await answer) as A2EClientError;
  expect(heard).toBe(5_000);
  expect(events).toHaveLength(1_000);
  expect(events.at(-1)?.seq).toBe(5_000);
  await client.disconnect();
});

test("a request without a JSON form is the caller's mistake, not a lost link", async () => {
  const { client, peer } = await connectFake();
  peer.sendError = new TypeError("Do not know how to serialize a BigInt");
  await expect(client.rpc(ping, { size: 1n } as never)).rejects.toThrow(TypeError);
  peer.sendError = undefined;
  expect(client.isConnected).toBe(true);
  await client.disconnect();
});

test("a clock on the wall that is set while a call waits does not end it", async () => {
  const { client, peer } = await connectFake({ timeoutMs: 30_000 });
  const now = vi.spyOn(Date, "now");
  const answer = client.rpc(ping, {});
  now.mockReturnValue(Date.now() + 24 * 3_600_000);
  // Longer than it takes to notice.
  await new Promise((resolve) => setTimeout(resolve, 60));
  now.mockRestore();
  peer.answer(peer.last, "pong");
  await answer;
  await client.disconnect();
});

test("a call may have an id chosen by its caller, used once at a time, and a retry gets another id", async () => {
  const { client, peer } = await connectFake();
  const first = client.rpc(ping, {}, { id: "mine" });
  expect(peer.last.id).toBe("mine");
  await expect(client.rpc(ping, {}, { id: "mine" })).rejects.toMatchObject({ code: "duplicate_id" });
  peer.answer(peer.last, "pong");
  await first;

  const retried = client.rpc(ping, {}, { id: "mine", retry: { maxAttempts: 2, firstDelayMs: 0 } });
  peer.answer(peer.last, "error", { code: "overloaded", retryable: true });
  await expect.poll(() => peer.last.id).not.toBe("mine");
  peer.answer(peer.last, "pong");
  await retried;
  await expect(client.rpc(ping, {}, { id: "" })).rejects.toThrow("must not be empty");
  await client.disconnect();
});
