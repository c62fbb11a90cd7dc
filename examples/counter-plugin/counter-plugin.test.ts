import { fileURLToPath } from "node:url";
import { A2EClientError } from "a2e/client";
import { loadHostConfig, loadPlugins, silentLogger } from "a2e/host";
import { core } from "a2e/protocol";
import { startHost } from "a2e/testing";
import { expect, test } from "vitest";
import { createCounter } from "./counter-plugin.js";
import { counter } from "./counter-table.js";

test("each session counts for itself", async () => {
  await using testHost = await startHost(createCounter({}));
  const other = await testHost.connect();

  await testHost.client.counter.add({ amount: 2 });

  expect(await testHost.client.counter.add()).toEqual({ value: 3 });
  expect(await other.counter.get()).toEqual({ value: 0 });
});

test("passing the threshold is reported once", async () => {
  await using testHost = await startHost(createCounter({ threshold: 3 }));
  const told: unknown[] = [];
  testHost.client.onPush("counter/threshold", ({ value, threshold }) => told.push({ value, threshold }));

  for (const amount of [2, 2, 2]) await testHost.client.counter.add({ amount });

  expect(told).toEqual([{ value: 4, threshold: 3 }]);
});

test("a restore resets the value to that of the snapshot", async () => {
  await using testHost = await startHost(createCounter({}));
  const { client } = testHost;
  await client.counter.add({ amount: 5 });
  const { snapshot_id, capabilities } = await client.use(core).snapshot();
  await client.counter.add({ amount: 1 });

  await client.use(core).restore({ snapshot_id });

  expect(capabilities).toEqual({ counter: "saved" });
  expect(await client.counter.get()).toEqual({ value: 5 });
});

test("a fork begins with the value, counts for itself, and is merged into its parent", async () => {
  await using testHost = await startHost(createCounter({}));
  const { client } = testHost;
  await client.counter.add({ amount: 5 });
  const { session_id } = await client.use(core).fork({});
  await using fork = await testHost.connect({ sessionId: session_id, agentId: client.agentId });

  expect(await fork.counter.add({ amount: 2 })).toEqual({ value: 7 });
  expect(await client.counter.get()).toEqual({ value: 5 });
  await client.use(core).merge({ session_id });
  expect(await client.counter.get()).toEqual({ value: 7 });
});

test("a sum beyond the range of a number is answered with counter_overflow and changes nothing", async () => {
  await using testHost = await startHost(createCounter({}));
  const { client } = testHost;
  await client.counter.add({ amount: Number.MAX_SAFE_INTEGER });

  const error = await client.counter.add({ amount: 1 }).catch((cause: unknown) => cause);

  expect(error).toBeInstanceOf(A2EClientError);
  expect(error).toMatchObject({ code: "counter_overflow", capability_name: "counter", retryable: false });
  expect(await client.counter.get()).toEqual({ value: Number.MAX_SAFE_INTEGER });
});

test("a config loads the plugin by its cls and hands it its metadata", async () => {
  const config = await loadHostConfig(fileURLToPath(new URL("a2e.yaml", import.meta.url)), { env: {} });
  const plugins = await loadPlugins(config, { builtin: {}, log: silentLogger });
  await using testHost = await startHost({ plugins });
  const told: unknown[] = [];
  testHost.client.onPush("counter/threshold", ({ threshold }) => told.push(threshold));

  await testHost.client.use(counter).add({ amount: 3 });

  expect(told).toEqual([3]);
});
