import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { startConfiguredServer } from "../compose/configured-server.ts";
import { connect } from "../compose/connect-node.ts";
import { toHostConfig } from "../config/parsing.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { testWith } from "../testing/needs.suite.ts";
import { startEchoHost } from "../transports/echo-host.suite.ts";
import { createHostMetrics } from "./host-metrics.ts";
import { metricNames } from "./names.ts";

const nextFolder = useTemporaryFolder();

async function start(auth_token?: string) {
  const input = {
    server: { port: 0 },
    telemetry: { metrics: true },
    ...(auth_token === undefined ? {} : { auth_token }),
  };
  const server = await startConfiguredServer(toHostConfig(input, { baseDir: nextFolder(), env: {} }));
  onTestFinished(() => server.close(0));
  return server;
}

/** A session in which something happens that each metric counts; its last call is in flight when it is scraped. */
async function scrapeBusyHost(): Promise<string> {
  const server = await start();
  const client = await connect(server.url);
  await client.tools.call({ tool_name: "js_eval", arguments: { code: "6 * 7" } });
  await expect(client.tools.call({ tool_name: "none" })).rejects.toThrow();
  await client.chains.run({ nodes: [{ node_id: "a", kind: "tool", name: "js_eval", input: { code: "1" } }] });
  const running = client.tools.call({ tool_name: "js_eval", arguments: { code: "for (;;);" } });
  void running.catch(() => {});
  // Lines of a session that no reader takes.
  server.host.sessions.create().receiveLine(JSON.stringify({ type: "ping", id: "1" }));
  await expect.poll(() => server.host.sessions.list().some(({ pendingCalls }) => pendingCalls > 0)).toBe(true);
  const response = await fetch(`${server.url}/metrics`);
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const text = await response.text();
  await client.disconnect();
  return text;
}

test("every metric is documented in the guide, and has a value other than 0 after a session", async () => {
  const text = await scrapeBusyHost();
  const guide = readFileSync(new URL("../../docs/guide/telemetry.md", import.meta.url), "utf8");
  for (const [name] of Object.values(metricNames)) {
    expect(text, name).toMatch(new RegExp(`^${name}(_count)?(\\{[^}]*\\})? (?!0$)\\S+$`, "m"));
    expect(guide, name).toContain(`\`${name}\``);
  }
  expect(text).toContain('a2e_calls_total{capability="tools",type="tool/call/req",code="ok"} 1');
  expect(text).toContain('a2e_calls_total{capability="tools",type="tool/call/req",code="unknown_tool"} 1');
});

testWith({
  name: "promtool (Debian package prometheus)",
  isMet: spawnSync("promtool", ["--version"]).status === 0,
})("promtool finds nothing to criticise in the metrics of a host", async () => {
  const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], { input: await scrapeBusyHost() });
  expect({ status, output: `${stdout}${stderr}` }).toEqual({ status: 0, output: "" });
});

test("the number of series does not depend on the names that 10,000 agents choose", async () => {
  const metrics = createHostMetrics({ version: "1" });
  const host = await startEchoHost({ interceptors: [metrics.interceptor], limits: { maxSessions: 20_000 } });
  onTestFinished(async () => {
    metrics.close();
    await host.close(0);
  });
  const speak = (agent: string) => {
    const session = host.sessions.create();
    const send = (message: object) => session.receiveLine(JSON.stringify(message));
    send({ type: "handshake/req", id: "1", agent_id: agent, agent_caps: ["echo"] });
    send({ type: "echo/say/req", id: "2", value: { agent } });
    send({ type: `${agent}/req`, id: "3" });
  };
  speak("first");
  await expect.poll(() => metrics.render(host)).toContain('type="echo/say/req",code="ok"} 1\n');
  const before = metrics.render(host);
  for (let index = 0; index < 10_000; index++) speak(`hostile"}\n${index} `);
  await expect.poll(() => metrics.render(host)).toContain('type="echo/say/req",code="ok"} 10001\n');
  const after = metrics.render(host);

  expect(after.split("\n").length).toBe(before.split("\n").length);
  expect(after).not.toContain("hostile");
});

test("a call whose handler never returns is counted when it times out", async () => {
  const metrics = createHostMetrics({ version: "1" });
  const host = await startEchoHost({ interceptors: [metrics.interceptor], limits: { callTimeoutMs: 10 } });
  onTestFinished(async () => {
    metrics.close();
    await host.close(0);
  });
  const session = host.sessions.create();
  const send = (message: object) => session.receiveLine(JSON.stringify(message));
  send({ type: "handshake/req", id: "1", agent_id: "a", agent_caps: ["echo"] });
  send({ type: "echo/die/req", id: "2" });
  await expect.poll(() => metrics.render(host)).toContain('type="echo/die/req",code="timeout"} 1\n');
});

test("/metrics needs the token of the host, and is not there without telemetry.metrics", async () => {
  const guarded = await start("s3cret");
  const ask = async (url: string, headers = {}) => (await fetch(`${url}/metrics`, { headers })).status;
  expect(await ask(guarded.url)).toBe(401);
  expect(await ask(guarded.url, { authorization: "Bearer wrong" })).toBe(401);
  expect(await ask(guarded.url, { authorization: "Bearer s3cret" })).toBe(200);

  const config = toHostConfig({ server: { port: 0 } }, { baseDir: nextFolder(), env: {} });
  const server = await startConfiguredServer(config);
  onTestFinished(() => server.close(0));
  expect(await ask(server.url)).toBe(404);
});
