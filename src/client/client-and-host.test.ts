// The client against a real host in the same process.
import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import type { CallContext } from "../plugin/call-context.ts";
import { plugin } from "../plugin/plugin.ts";
import { jsonValue } from "../protocol/json.ts";
import { call, capability, push } from "../protocol/table/capability.ts";
import { watchResources } from "../testing/leaks.ts";
import { startHost } from "../testing/start-host.ts";

const changed = push("bench/changed", {
  doc: "A value changed.",
  payload: z.object({ what: z.string() }),
  example: { what: "all" },
});

const benchCapability = capability("bench", {
  doc: "Performs the step that a test names.",
  event: "bench/event",
  errors: { bench_broken: { retryable: true, doc: "It broke." } },
  calls: {
    run: call("bench/run/req", "bench/run/resp", {
      about: { access: "write" },
      doc: "Runs.",
      request: z.object({ value: jsonValue.nullable().default(null), streaming: z.boolean().default(false) }),
      result: z.object({ value: jsonValue.nullable().default(null) }),
      example: { request: { value: 1 }, result: { value: 1 } },
    }),
  },
  pushes: { changed },
});

type Run = (value: unknown, context: CallContext, tell: (what: string) => void) => unknown;

function benchPlugin(run: Run) {
  return plugin(benchCapability, {
    session: (session) => ({
      handlers: {
        run: async ({ value }, context) => {
          const result = await run(value, context, (what) => session.push(changed, { what }));
          return { value: result as never };
        },
      },
    }),
  });
}

describe("a client of a host", () => {
  test("gets its session, its grants and typed answers", async () => {
    await using test = await startHost(benchPlugin((value) => value));
    expect(test.client.sessionId).not.toBe("");
    expect(test.client.maxParallel).toBeGreaterThan(0);
    expect(test.client.has("bench")).toBe(true);
    expect(test.client.capabilities().map((cap) => cap.capability)).toEqual(["bench"]);
    await expect(test.client.bench.run({ value: { deep: [1, null, "é"] } })).resolves.toEqual({
      value: { deep: [1, null, "é"] },
    });
    expect(await test.client.ping()).toBeGreaterThan(0);
  });

  test("shares no object with it, in either direction", async () => {
    const kept: { list: number[] }[] = [];
    await using test = await startHost(
      benchPlugin((value) => {
        kept.push(value as { list: number[] });
        return value;
      }),
    );
    const sent = { list: [1] };
    const answer = (await test.client.bench.run({ value: sent })).value as { list: number[] };
    sent.list.push(2);
    answer.list.push(3);
    expect(kept).toEqual([{ list: [1] }]);
    kept[0]?.list.push(4);
    expect(answer).toEqual({ list: [1, 3] });
  });

  test("gets events in order before the answer, and with the error if the call fails", async () => {
    await using test = await startHost(
      benchPlugin((value, context) => {
        for (const step of [1, 2, 3]) context.emit("progress", { step });
        if (value === "fail") throw benchCapability.error("bench_broken", "snapped", { detail: { part: "leg" } });
        return "done";
      }),
    );
    const seen: string[] = [];
    await test.client.bench
      .run({}, { onEvent: ({ data, seq }) => seen.push(`${data.step}/${seq}`) })
      .then(() => seen.push("end"));
    expect(seen).toEqual(["1/1", "2/2", "3/3", "end"]);
    await expect(test.client.bench.run({ value: "fail", streaming: true })).rejects.toMatchObject({
      code: "bench_broken",
      message: "snapped",
      retryable: true,
      detail: { part: "leg" },
      capability_name: "bench",
      events: [{ data: { step: 1 } }, { data: { step: 2 } }, { data: { step: 3 } }],
    });
  });

  test("may call many at once and gets each its own answer", async () => {
    const waiting: (() => void)[] = [];
    const run: Run = (value) => new Promise((resolve) => waiting.push(() => resolve(value)));
    await using test = await startHost({ plugins: [benchPlugin(run)], limits: { maxParallelCalls: 10 } });
    const calls = Array.from({ length: 10 }, (_, value) => test.client.bench.run({ value }));
    await vi.waitFor(() => expect(waiting).toHaveLength(10));
    for (const finish of waiting.reverse()) finish();
    expect((await Promise.all(calls)).map(({ value }) => value)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("stops the handler if it aborts or times out, and can make further calls", async () => {
    const reasons: string[] = [];
    const untilStopped: Run = (value, { signal }) =>
      value === "quick"
        ? "done"
        : new Promise((_, reject) => {
            signal.addEventListener("abort", () => {
              reasons.push((signal.reason as { code: string }).code);
              reject(signal.reason);
            });
          });
    await using test = await startHost(benchPlugin(untilStopped));
    const controller = new AbortController();
    const aborted = test.client.bench.run({}, { signal: controller.signal });
    // The handler starts in a later turn; an abort before that would have nothing to stop.
    await test.client.bench.run({ value: "quick" });
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ code: "aborted" });
    await expect(test.client.bench.run({}, { timeoutMs: 1 })).rejects.toMatchObject({ code: "timeout" });
    await vi.waitFor(() => expect(reasons).toEqual(["cancelled", "cancelled"]));
    await expect(test.client.bench.run({ value: "quick" })).resolves.toEqual({ value: "done" });
  });

  test("receives pushes while a call runs, without either affecting the other", async () => {
    await using test = await startHost(
      benchPlugin((value, context, tell) => {
        tell("first");
        context.emit("status", {});
        tell("second");
        return value;
      }),
    );
    const heard: unknown[] = [];
    test.client.onPush(changed, (message) => heard.push(message.what));
    const onEvent = vi.fn();
    await expect(test.client.bench.run({ value: 1 }, { onEvent })).resolves.toEqual({ value: 1 });
    expect(heard).toEqual(["first", "second"]);
    expect(onEvent).toHaveBeenCalledOnce();
  });

  test("receives the exact problem of a request", async () => {
    await using test = await startHost(benchPlugin(() => 1));
    await expect(test.client.bench.run({ streaming: "yes" as never })).rejects.toMatchObject({
      code: "schema_violation",
      detail: { issues: [{ path: "streaming" }] },
    });
  });

  test("ends its session when it disconnects: the host keeps no session and runs no handler", async () => {
    const watch = watchResources();
    const test = await startHost(benchPlugin((value) => value));
    const second = await test.connect();
    expect(second.sessionId).not.toBe(test.client.sessionId);
    expect(test.host.sessions.size).toBe(2);
    await second.disconnect();
    expect(test.host.sessions.size).toBe(1);
    await test.close();
    await expect(test.client.bench.run({})).rejects.toMatchObject({ code: "connection_lost" });
    await watch.expectNothingLeft();
  });

  test("learns that the host went away", async () => {
    const test = await startHost(benchPlugin(() => new Promise(() => {})));
    const ended = expect(test.client.bench.run({})).rejects.toThrow();
    await test.host.close(0);
    await ended;
    await vi.waitFor(() => expect(test.client.isConnected).toBe(false));
    await test.close();
  });
});

test("rejects a call at once if its id is too long for the host", async () => {
  await using host = await startHost({ plugins: [benchPlugin((value) => value)], limits: { maxIdLength: 40 } });
  const answers = await Promise.allSettled([
    host.client.bench.run({ value: 1 }, { id: "x".repeat(41) }),
    host.client.bench.run({ value: 2 }, { id: "x".repeat(40) }),
  ]);
  expect(answers).toMatchObject([
    { reason: { name: "A2EClientError", code: "schema_violation", message: "id: longer than 40 characters" } },
    { value: { value: 2 } },
  ]);
});
