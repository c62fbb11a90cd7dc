import { expect, test } from "vitest";
import { keepSessions } from "../durability/keep-sessions.ts";
import { A2EHost } from "../host/host.ts";
import { probe, probePlugin } from "../host/session/raw-session.suite.ts";
import { A2EError } from "../protocol/errors.ts";
import { createMemorySnapshotStore } from "../stores/snapshots/memory-snapshot-store.ts";
import { createDirectTransport } from "../transports/direct.ts";
import { A2EClient, type ClientOptions } from "./client.ts";
import type { ClientInterceptor } from "./client-interceptors.ts";

async function start(options: Partial<ClientOptions>, plugin = probePlugin()) {
  const host = await A2EHost.start({
    plugins: [plugin],
    keeping: keepSessions,
    snapshots: createMemorySnapshotStore(),
  });
  const client = await A2EClient.connect({
    transport: createDirectTransport(() => host.sessions.create()),
    capabilities: ["test"],
    ...options,
  });
  return { client, [Symbol.asyncDispose]: () => host.close(0) };
}

test("interceptors wrap every call of a client, including the handshake, and the first interceptor is the outermost", async () => {
  const seen: string[] = [];
  const noting =
    (name: string): ClientInterceptor =>
    (next) =>
    async (call) => {
      seen.push(`${name} ${call.call.type}`);
      const result = await next(call);
      seen.push(`${name} done`);
      return result;
    };
  await using started = await start({ interceptors: [noting("a"), noting("b")] });
  seen.length = 0;
  expect(await started.client.rpc(probe.calls.run, { name: "x" })).toMatchObject({ value: "x" });
  expect(seen).toEqual(["a test/run/req", "b test/run/req", "b done", "a done"]);
  expect(await started.client.ping()).toBeGreaterThanOrEqual(0);
});

test("an interceptor can change the request, the options and the result", async () => {
  const interceptor: ClientInterceptor = (next) => async (call) => {
    if (call.call !== probe.calls.run) return next(call);
    const result = await next({ ...call, request: { name: "changed" }, options: { ...call.options, id: "my-id" } });
    return { ...result, value: `${String(result.value)}!` };
  };
  const plugin = probePlugin(({ name }, { id }) => ({ value: `${name} ${id}` }));
  await using started = await start({ interceptors: [interceptor] }, plugin);
  expect(await started.client.rpc(probe.calls.run, { name: "x" })).toMatchObject({ value: "changed my-id!" });
});

test("a call rejects with the error that an interceptor throws, and is not sent", async () => {
  let runs = 0;
  const plugin = probePlugin(() => {
    runs += 1;
    return { value: "" };
  });
  const refuse: ClientInterceptor = (next) => (call) => {
    if (call.call === probe.calls.run) throw new TypeError("not today");
    return next(call);
  };
  await using started = await start({ interceptors: [refuse] }, plugin);
  await expect(started.client.rpc(probe.calls.run, { name: "x" })).rejects.toThrow("not today");
  expect(runs).toBe(0);
});

test("a call that is retried passes once for each attempt", async () => {
  let runs = 0;
  const plugin = probePlugin(() => {
    runs += 1;
    if (runs < 3) throw new A2EError("rate_limited", "busy", { detail: { retry_after_ms: 1 } });
    return { value: "at last" };
  });
  const codes: unknown[] = [];
  const noting: ClientInterceptor = (next) => async (call) => {
    try {
      return await next(call);
    } catch (error) {
      codes.push((error as { code?: unknown }).code);
      throw error;
    }
  };
  await using started = await start({ interceptors: [noting], retry: { maxAttempts: 3, firstDelayMs: 1 } }, plugin);
  expect(await started.client.rpc(probe.calls.run, { name: "x" })).toMatchObject({ value: "at last" });
  expect(codes).toEqual(["rate_limited", "rate_limited"]);
});
