import { expect, test } from "vitest";
import { env } from "../caps/env/protocol.ts";
import { memory } from "../caps/memory/protocol.ts";
import { proc } from "../caps/proc/protocol.ts";
import { tools } from "../caps/tools/protocol.ts";
import { A2EClient } from "../client/client.ts";
import { toHostConfig } from "../config/parsing.ts";
import type { A2EHostConfigInput } from "../config/schema.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { createNodeHttpTransport } from "../transports/http/http-node.ts";
import { startConfiguredServer } from "./configured-server.ts";

const nextFolder = useTemporaryFolder();

function start(quotas: A2EHostConfigInput["quotas"], baseDir = nextFolder()) {
  const plugins = [
    ...["tools", "env", "memory"].map((type) => ({ type })),
    { type: "proc", metadata: { sandbox: "none" } },
  ];
  const input = { auth_token: "secret", server: { port: 0 }, plugins, quotas };
  return startConfiguredServer(toHostConfig(input, { baseDir, env: {} }));
}

function connect({ url }: { url: string }) {
  return A2EClient.connect({ transport: createNodeHttpTransport({ url, token: "secret" }) });
}

test("POST /session with the credential of a principal without a session left is answered with 429", async () => {
  await using server = await start({ default: { max_sessions: 1 } });
  const client = await connect(server);
  const headers = { authorization: "Bearer secret" };
  const refused = await fetch(`${server.url}/session`, { method: "POST", headers });
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
  const body = { jsonrpc: "2.0", id: 1, method: "initialize", params: initialize };
  const accept = "application/json, text/event-stream";
  const mcp = await fetch(`${server.url}/mcp`, {
    method: "POST",
    headers: { ...headers, accept, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect([mcp.status, mcp.headers.get("retry-after")]).toEqual([429, "1"]);
  await client.disconnect();
  await expect.poll(async () => (await fetch(`${server.url}/session`, { method: "POST", headers })).status).toBe(200);
});

const initialize = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };

test("a budget of environment steps and of bytes refuses before anything changes, and survives a restart", async () => {
  const baseDir = nextFolder();
  const quotas = { default: { budget: { in_all: { env_steps: 3, bytes_stored: 100 } } } };
  const server = await start(quotas, baseDir);
  const client = await connect(server);
  const { obs } = await client.use(env).reset({ env_name: "counter_env", seed: 1 });
  const actions = [{ type: "inc" }, { type: "inc" }];
  await client.use(env).batchStep({ episode_id: obs.episode_id, actions });
  await expect(client.use(env).batchStep({ episode_id: obs.episode_id, actions })).rejects.toMatchObject({
    code: "rate_limited",
    detail: { budget: "env_steps", used: 2, limit: 3 },
  });
  expect((await client.use(env).observe({ episode_id: obs.episode_id })).obs.step_num).toBe(2);
  const entries = [{ tier: "semantic" as const, key: "k", content: "x".repeat(200) }];
  await expect(client.use(memory).store({ entries })).rejects.toMatchObject({ detail: { budget: "bytes_stored" } });
  await client.disconnect();
  await server.close(0);

  await using next = await start(quotas, baseDir);
  const again = await connect(next);
  const episode = await again.use(env).reset({ env_name: "counter_env", seed: 1 });
  const step = { episode_id: episode.obs.episode_id, action: { type: "inc" } };
  await again.use(env).step(step);
  await expect(again.use(env).step(step)).rejects.toMatchObject({ detail: { budget: "env_steps", used: 3, limit: 3 } });
  await again.disconnect();
});

test("a process is ended when the budget of process seconds is used up", async () => {
  await using server = await start({ default: { budget: { in_all: { process_seconds: 1 } } } });
  const client = await connect(server);
  const { proc_id = "" } = await client.use(proc).spawn({ cmd: ["sleep", "600"] });
  await expect
    .poll(async () => (await client.use(proc).status({ proc_id })).error, { timeout: 30_000 })
    .toBe("budget_used_up");
  await expect(client.use(proc).spawn({ cmd: ["sleep", "600"] })).rejects.toMatchObject({
    detail: { budget: "process_seconds" },
  });
  await client.disconnect();
});

test("calls beyond calls_per_second are answered with rate_limited", async () => {
  await using server = await start({ principals: { token: { calls_per_second: 0.001, burst: 2 } } });
  const [one, two] = [await connect(server), await connect(server)];
  await one.use(tools).list({});
  await two.use(tools).list({});
  await expect(one.use(tools).list({})).rejects.toMatchObject({ detail: { limit: "calls_per_second" } });
  await one.disconnect();
  await two.disconnect();
});
