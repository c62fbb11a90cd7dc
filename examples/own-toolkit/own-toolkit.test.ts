import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "a2e";
import { loadHostConfig } from "a2e/host";
import { startConfiguredServer } from "a2e/server";
import { startHost } from "a2e/testing";
import { toolkitsPlugin } from "a2e/toolkits";
import { toolsPlugin } from "a2e/tools";
import { expect, test } from "vitest";
import { exchange } from "./toolkits/exchange.js";

const config = { rates: { USD: 1.25, SEK: 11 }, api_key: "key-of-the-company" };

test("an agent configures the toolkit and converts money", async () => {
  await using host = await startHost(
    toolsPlugin({ builtin: false }),
    toolkitsPlugin({ builtin: false, toolkits: [exchange] }),
  );
  const { tools, toolkits } = host.client;

  const { toolkit } = await toolkits.configure({ toolkit_name: "exchange", config });
  const request = { tool_name: "exchange__convert", arguments: { amount: 10, from: "USD", to: "SEK" } };
  const { data } = await tools.call(request);

  expect(data.data).toEqual({ amount: 88, currency: "SEK", answers: 1 });
  expect(toolkit).toMatchObject({
    state: "running",
    config: { base: "EUR", rates: config.rates },
    secrets: ["api_key"],
  });
  expect(JSON.stringify(host.wire.filter(({ direction }) => direction === "received"))).not.toContain(config.api_key);
});

test("a key that the service does not know leaves the toolkit without tools, and says why", async () => {
  await using host = await startHost(
    toolsPlugin({ builtin: false }),
    toolkitsPlugin({ builtin: false, toolkits: [exchange] }),
  );
  const { tools, toolkits } = host.client;
  const answer = await toolkits.configure({ toolkit_name: "exchange", config: { ...config, api_key: "guessed-key" } });
  expect(answer).toMatchObject({ status: "partial", message: "the service knows no such key" });
  expect((await tools.list()).tools).toEqual([]);
});

test("a config names the folder and the toolkit is there", async () => {
  const folder = await mkdtemp(join(tmpdir(), "a2e-example-"));
  try {
    const loaded = await loadHostConfig(fileURLToPath(new URL("a2e.yaml", import.meta.url)), { env: {} });
    await using running = await startConfiguredServer({
      ...loaded,
      server: { ...loaded.server, port: 0 },
      data_dir: folder,
      workspace_dir: folder,
      audit: { ...loaded.audit, enabled: false },
      snapshot_store: { type: "memory" },
    });
    await using client = await connect(running.url);
    const { toolkits } = await client.toolkits.list({ filter_tags: ["money"] });
    expect(toolkits).toMatchObject([{ name: "exchange", tools: ["exchange__convert"], state: "available" }]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
