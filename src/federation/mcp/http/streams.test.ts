import { expect, test } from "vitest";
import { defineTool } from "../../../caps/tools/definition/define-tool.ts";
import { httpClients } from "../mcp-clients.suite.ts";
import { addTool, useMcpHosts } from "../started-mcp-host.suite.ts";

const startHost = useMcpHosts();
const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };

async function initialize(url: string): Promise<Record<string, string>> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  const response = await fetch(`${url}/mcp`, { method: "POST", headers: json, body });
  await response.text();
  const session = {
    "mcp-session-id": response.headers.get("mcp-session-id") ?? "",
    "mcp-protocol-version": "2025-11-25",
  };
  return { ...json, ...session };
}

test("the answer to a call whose stream was cut is replayed when the client reconnects", async () => {
  let release = () => {};
  const slow = defineTool({
    name: "slow",
    description: "Takes its time.",
    input: { type: "object", properties: {} },
    run: () =>
      new Promise<string>((resolve) => {
        release = () => resolve("late");
      }),
  });
  const { url } = await startHost({ tools: [slow] });
  const headers = await initialize(url);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "slow", arguments: {} } });
  const cut = new AbortController();
  const response = await fetch(`${url}/mcp`, { method: "POST", headers, body, signal: cut.signal });
  const first = await response.body?.getReader().read();
  const lastEventId = /^id: (.*)$/m.exec(new TextDecoder().decode(first?.value))?.[1] ?? "";

  cut.abort();
  release();
  const resumed = await fetch(`${url}/mcp`, { headers: { ...headers, "last-event-id": lastEventId } });
  const reader = resumed.body?.getReader();
  let text = "";
  while (!text.includes('"id":7')) text += new TextDecoder().decode((await reader?.read())?.value);
  await reader?.cancel();

  expect(text).toContain("late");
});

test("a session of revision 2024-11-05 ends with its stream", async () => {
  const { url, host } = await startHost();
  const client = await httpClients["2024-11-05 over SSE, SDK 1"]?.(url);
  await client?.listTools();
  expect(host.sessions.size).toBe(1);

  await client?.close();

  await expect.poll(() => host.sessions.size).toBe(0);
});

test.each(Object.entries(httpClients))(
  "a host that stops lets a call of a client of %s finish, and then ends every stream",
  async (_revision, connect) => {
    let isRunning = false;
    let finish = () => {};
    const brief = defineTool({
      name: "brief",
      description: "Takes a moment.",
      input: { type: "object", properties: {} },
      run: () =>
        new Promise<string>((resolve) => {
          isRunning = true;
          finish = () => resolve("done");
        }),
    });
    const { url, host, stop } = await startHost({ tools: [brief, addTool] });
    const client = await connect(url);
    // This client has a stream, but no call.
    await connect(url, { name: "idle" });

    const called = client.callTool({ name: "brief", arguments: {} });
    await expect.poll(() => isRunning).toBe(true);
    const stopped = stop(20_000);
    await expect.poll(() => host.sessions.size).toBe(1);
    finish();

    expect(await called).toMatchObject({ content: [{ text: "done" }] });
    await stopped;
    await expect(client.callTool({ name: "add", arguments: { a: 1, b: 1 } })).rejects.toThrow();
  },
);
