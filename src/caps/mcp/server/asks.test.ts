// Requests of servers to agents: which agent is asked, and which is not.
import { expect, test } from "vitest";
import { mcp } from "../protocol.ts";
import { officialServer, ownServer, startBridge, waitFor } from "../start-bridge.suite.ts";

const cmd = ownServer("hostile");

test("a server without permission cannot ask, and a server whose agent refuses gets an error", async () => {
  const everything = officialServer("everything");
  await using bridge = await startBridge({
    off: { cmd: everything },
    on: { cmd: everything, permissions: { sampling: true } },
  });
  await Promise.all([bridge.status("off", "ready"), bridge.status("on", "ready")]);
  const { tools } = await bridge.client.tools.list({});
  const ask = () => bridge.call("on__trigger-sampling-request", { prompt: "hello" });

  const unhandled = await ask();
  const stop = bridge.client.onAsk(mcp.asks.sample, async () => ({ error: "not today" }));
  const refused = await ask();
  stop();
  bridge.client.onAsk(mcp.asks.sample, async () => {
    throw mcp.error("mcp_sampling_refused", "never");
  });
  const thrown = await ask();

  expect(tools.some(({ name }) => name === "off__trigger-sampling-request")).toBe(false);
  expect(unhandled).toMatchObject({ success: false, error: expect.stringContaining("sampling refused") });
  expect(refused.error).toContain("mcp_sampling_refused: not today");
  expect(thrown.error).toContain("mcp_sampling_refused: never");
});

test("a server's request to an agent that does not answer times out", async () => {
  await using bridge = await startBridge(
    { on: { cmd: officialServer("everything"), permissions: { sampling: true } } },
    { ask_timeout_ms: 100 },
  );
  await bridge.status("on", "ready");
  bridge.client.onAsk(mcp.asks.sample, () => new Promise(() => {}));

  const result = await bridge.call("on__trigger-sampling-request", { prompt: "hello" });

  expect(result.error).toContain("timeout");
});

test("if several sessions have calls in progress, no agent is asked on behalf of another", async () => {
  await using bridge = await startBridge({
    on: { cmd: officialServer("everything"), permissions: { sampling: true } },
  });
  await bridge.status("on", "ready");
  const other = await bridge.connect();
  const asked: string[] = [];
  bridge.client.onAsk(mcp.asks.sample, async () => void asked.push("first") as never);
  other.onAsk(mcp.asks.sample, async () => void asked.push("second") as never);

  const busy = other.tools.call({ tool_name: "on__trigger-long-running-operation", arguments: { duration: 1 } });
  await waitFor(async () => ((await bridge.status("on", "ready")).in_flight > 0 ? true : undefined), "a call");
  const result = await bridge.call("on__trigger-sampling-request", { prompt: "whose?" });
  await busy;

  expect(result.error).toContain("the agent to ask is unknown");
  expect(asked).toEqual([]);
});

test("a server that continues a call without a caller cannot ask another agent about it", async () => {
  await using bridge = await startBridge({ on: { cmd, permissions: { sampling: true } } });
  await bridge.status("on", "ready");
  const other = await bridge.connect();
  const asked: unknown[] = [];
  other.onAsk(mcp.asks.sample, async (request) => void asked.push(request) as never);

  const given = bridge.client.tools.call({
    tool_name: "on__ask_later",
    arguments: { ms: 400, text: "mine" },
    timeout: 0.1,
  });
  await expect(given).rejects.toMatchObject({ code: "timeout" });
  await other.tools.call({ tool_name: "on__wait", arguments: { ms: 800 } });

  expect(asked).toEqual([]);
});

test("a server that asked for a visit to an address reports when it is done", async () => {
  await using bridge = await startBridge({ on: { cmd, permissions: { elicitation: true } } });
  await bridge.status("on", "ready");
  const told: unknown[] = [];
  bridge.client.onPush("mcp/server/push", ({ method, params }) => told.push([method, params]));

  await bridge.call("on__complete");

  await waitFor(() => (told.length > 0 ? true : undefined), "a push");
  expect(told).toContainEqual(["notifications/elicitation/complete", { elicitation_id: "e1" }]);
});
