// Recorded sessions that used tools of servers: replayed without the servers.
import { expect, test } from "vitest";
import { RawPeer, startRawHost } from "../../host/session/raw-session.suite.ts";
import type { Message } from "../../protocol/envelope.ts";
import { createMemoryRecordings } from "../../recording/memory-recordings.suite.ts";
import { askTool, identical, record, replay } from "../../recording/replayed-session.suite.ts";
import { defineTool } from "../tools/definition/define-tool.ts";
import { toolsPlugin } from "../tools/plugin.ts";
import { mcpPlugin } from "./plugin.ts";
import { officialServer, ownServer } from "./start-bridge.suite.ts";

const cmd = ownServer("hostile");

function plugins(options: Parameters<typeof mcpPlugin>[0] = {}) {
  const own = defineTool({ name: "own", description: "The host's.", input: { type: "object" }, run: () => ({}) });
  return [
    mcpPlugin({ ping_interval_ms: 0, initial_backoff_ms: 20, ...options }),
    toolsPlugin({ builtin: false, tools: [own] }),
  ];
}

/** Sends a request with its own id. */
function asking(peer: RawPeer) {
  let count = 0;
  return async (type: string, fields: object = {}): Promise<Message> => {
    count += 1;
    peer.send({ type, id: `ask-${count}`, version: "1.0", ...fields });
    return peer.answer(`ask-${count}`);
  };
}

/** Lists tools until the named tool is there, and returns the last list. */
async function untilListed(ask: ReturnType<typeof asking>, wanted: string): Promise<string[]> {
  for (;;) {
    const { tools } = await ask("tool/list/req");
    const names = (tools as { name: string }[]).map(({ name }) => name);
    if (names.includes(wanted)) return names;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("the tools of servers and the results of their calls are replayed from the recording", async () => {
  const env = { API_KEY: "sk-not-to-be-seen" };
  const options = { servers: { shared: { cmd, env }, mine: { cmd, scope: "session" as const } } };
  const recorded = await record(plugins(options), async (peer) => {
    const ask = asking(peer);
    await untilListed(ask, "mine__echo");
    const names = await untilListed(ask, "shared__echo");
    expect(names[0]).toBe("own");
    expect(await askTool(peer, "1", "shared__echo", { arguments: { text: "hello" } })).toMatchObject({
      data: { success: true },
    });
    await askTool(peer, "2", "mine__progress", { streaming: true });
    expect(peer.events("2")).toHaveLength(3);
    expect(await askTool(peer, "3", "mine__progress")).toMatchObject({ data: { events: [{}, {}, {}] } });
    expect(await askTool(peer, "4", "shared__wrong")).toMatchObject({ code: "schema_violation" });
    expect(await askTool(peer, "5", "shared__eco")).toMatchObject({ code: "unknown_tool" });
    expect(await askTool(peer, "6", "shared__hang", { timeout: 0.05 })).toMatchObject({ code: "timeout" });
    const cancelled = askTool(peer, "7", "shared__hang");
    peer.send({ type: "invoke/cancel/req", id: "8", call_id: "7" });
    expect(await cancelled).toMatchObject({ code: "cancelled" });
    expect(await askTool(peer, "9", "mine__crash")).toMatchObject({ type: "error" });
    await ask("mcp/server/list/req");
    await askTool(peer, "10", "mine__pid");
    await ask("tool/list/req", { query: "echo" });
    await askTool(peer, "11", "shared__tell");
    await askTool(peer, "12", "shared__tell", { arguments: { how: "failure" } });
  });
  expect(recorded.text).not.toContain("sk-not-to-be-seen");
  expect(await replay(recorded, plugins(options))).toEqual(identical);
  expect(await replay(recorded, plugins(options), { mustRunTools: true })).toEqual(identical);
});

test("tools that were added, changed and removed are there for the same part of the replay", async () => {
  const options = { registration: { commands: [[...cmd, "..."]] } };
  const recorded = await record(plugins(options), async (peer) => {
    const ask = asking(peer);
    const register = () => ask("mcp/server/register/req", { config: { server_id: "books", cmd: [...cmd, "--many"] } });
    await ask("tool/list/req");
    expect(await register()).toMatchObject({ ok: true });
    expect(await untilListed(ask, "books__generation_0")).not.toContain("books__generation_1");
    await askTool(peer, "1", "books__change");
    expect(await untilListed(ask, "books__generation_1")).not.toContain("books__generation_0");
    expect(await askTool(peer, "2", "books__generation_0")).toMatchObject({ code: "unknown_tool" });
    const { snapshot_id } = await ask("session/snapshot/req");
    await ask("mcp/server/unregister/req", { server_id: "books" });
    expect(await askTool(peer, "3", "books__echo")).toMatchObject({ code: "unknown_tool" });
    expect(await ask("tool/list/req")).toMatchObject({ tools: [{ name: "own" }] });
    await ask("session/restore/req", { snapshot_id });
    await untilListed(ask, "books__echo");
    await askTool(peer, "4", "books__echo", { arguments: { text: "again" } });
  });
  expect(await replay(recorded, plugins())).toEqual(identical);
  // A thousand tools are recorded once per change of the list, not once per tool.
  expect(recorded.text.split("\n").filter((line) => line.startsWith('["tools"')).length).toBeLessThan(10);
});

test("requests of servers during a call are not sent again in a replay; the recorded answers are used", async () => {
  const permissions = { sampling: true, elicitation: true, roots: true };
  const options = {
    servers: { on: { cmd: officialServer("everything"), permissions }, late: { cmd, permissions } },
    // The second question runs into it; the others are answered at once.
    ask_timeout_ms: 2_000,
  };
  const recorded = await record(plugins(options), async (peer) => {
    const ask = asking(peer);
    await untilListed(ask, "late__echo");
    await untilListed(ask, "on__trigger-sampling-request");
    const asked = async (type: string, count: number) => {
      const found = () => peer.received.filter((message) => message.type === type);
      await peer.until(() => found().length >= count);
      return found()[count - 1]?.id;
    };
    const sampling = askTool(peer, "1", "on__trigger-sampling-request", { arguments: { prompt: "hello" } });
    const content = { type: "text", text: "sampled" };
    peer.send({
      type: "mcp/sample/resp",
      id: "answer-1",
      req_id: await asked("mcp/sample/req", 1),
      content,
      model: "m",
    });
    expect(await sampling).toMatchObject({ data: { success: true } });
    const silent = askTool(peer, "2", "on__trigger-sampling-request", { arguments: { prompt: "anybody?" } });
    const second = await asked("mcp/sample/req", 2);
    expect(await silent).toMatchObject({ data: { error: expect.stringContaining("timeout") } });
    peer.send({ type: "mcp/sample/resp", id: "answer-2", req_id: second, content, model: "m" });
    expect(await peer.answer("answer-2")).toMatchObject({ code: "invalid_message" });
    // The caller has left when this answer arrives.
    const left = askTool(peer, "3", "late__ask_later", { arguments: { text: "late" } });
    const third = await asked("mcp/sample/req", 3);
    peer.send({ type: "invoke/cancel/req", id: "cancel-3", call_id: "3" });
    expect(await left).toMatchObject({ code: "cancelled" });
    peer.send({ type: "mcp/sample/resp", id: "answer-3", req_id: third, content, model: "m" });
    const eliciting = askTool(peer, "4", "on__trigger-elicitation-request");
    const form = await asked("mcp/elicit/req", 1);
    peer.send({ type: "mcp/elicit/resp", id: "answer-4", req_id: form, action: "accept", content: { name: "Ada" } });
    await eliciting;
    await askTool(peer, "5", "late__log", { arguments: { text: "a notification" } });
    await askTool(peer, "6", "on__trigger-long-running-operation", {
      arguments: { duration: 0.2, steps: 4 },
      streaming: true,
    });
  });
  expect(await replay(recorded, plugins(options))).toEqual(identical);
});

test("a fork has the tools of its servers, and so has its replay", async () => {
  const options = { servers: { mine: { cmd, scope: "session" as const } } };
  const recordings = createMemoryRecordings();
  await using raw = await startRawHost(plugins(options), { recordings });
  const peer = await raw.open({ agent_caps: ["tools", "mcp"] });
  const ask = asking(peer);
  await untilListed(ask, "mine__pid");
  const { session_id } = await ask("session/fork/req");
  const fork = new RawPeer(raw.host.sessions.get(session_id as string) as never);
  await untilListed(asking(fork), "mine__pid");
  const [first, second] = await Promise.all([askTool(peer, "1", "mine__pid"), askTool(fork, "1", "mine__pid")]);
  expect((first.data as { data: unknown }).data).not.toEqual((second.data as { data: unknown }).data);
  await raw.host.close(0);
  for (const text of recordings.texts) expect(await replay({ text }, plugins(options))).toEqual(identical);
});
