import { startHost } from "a2e/testing";
import { expect, test } from "vitest";
import { createCounter } from "../counter-plugin/counter-plugin.js";
import { countCalls } from "./client-interceptor.js";
import { allowCapabilities, measureCalls } from "./host-interceptors.js";

test("every call is measured, with the code of its error if it has one", async () => {
  const reported: unknown[] = [];
  const measure = measureCalls((type, outcome) => reported.push([type, outcome]));
  await using testHost = await startHost({ plugins: [createCounter({})], interceptors: [measure] });

  await testHost.client.counter.add({ amount: Number.MAX_SAFE_INTEGER });
  await testHost.client.counter.add({ amount: 1 }).catch(() => {});

  expect(reported).toEqual([
    ["handshake/req", "ok"],
    ["counter/add/req", "ok"],
    ["counter/add/req", "counter_overflow"],
  ]);
});

test("an agent calls only the capabilities that are listed for it", async () => {
  const allow = allowCapabilities({ ada: ["counter"] });
  await using testHost = await startHost({
    plugins: [createCounter({})],
    interceptors: [allow],
    client: { agentId: "ada" },
  });
  const other = await testHost.connect({ agentId: "bob" });

  expect(await testHost.client.counter.add()).toEqual({ value: 1 });
  await expect(other.counter.add()).rejects.toMatchObject({ code: "forbidden" });
});

test("a client counts its calls and chooses their ids", async () => {
  const counts = new Map<string, number>();
  await using testHost = await startHost({
    plugins: [createCounter({})],
    client: { interceptors: [countCalls(counts, "run-7")] },
  });

  await testHost.client.counter.add();
  await testHost.client.counter.get();

  expect([...counts]).toEqual([
    ["handshake/req", 1],
    ["counter/add/req", 1],
    ["counter/get/req", 1],
  ]);
  expect(testHost.wire.filter(({ message }) => message.type.startsWith("counter/")).at(0)?.message.id).toBe("run-7-2");
});
