import { request as httpRequest } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { createFakeClock } from "../../../testing/fake-clock.ts";
import { connectSecond, httpClients } from "../mcp-clients.suite.ts";
import { useMcpHosts } from "../started-mcp-host.suite.ts";
import { createMcpDoor } from "./http-door.ts";
import { initialize, json, listTools, send } from "./raw-requests.suite.ts";

const startHost = useMcpHosts();

test.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])(
  "the revision %s is spoken when asked for",
  async (revision) => {
    const { url } = await startHost();

    const { status, body } = await send(`${url}/mcp`, "POST", json, initialize(revision));

    expect(status).toBe(200);
    expect(body).toContain(`"protocolVersion":"${revision}"`);
  },
);

test("a revision that does not exist is answered with the newest of those that begin like it", async () => {
  const { url } = await startHost();
  expect((await send(`${url}/mcp`, "POST", json, initialize("2099-01-01"))).body).toContain(
    '"protocolVersion":"2025-11-25"',
  );
});

test.each(Object.entries(httpClients))(
  "clients of %s have a session each and see nothing of each other",
  async (_revision, connect) => {
    const { url, host } = await startHost();
    const [ada, bob] = await Promise.all([connect(url, { name: "ada" }), connect(url, { name: "bob" })]);
    const entries = [
      { key: "secret", content: "tea", tier: "working" },
      { key: "diary", content: "tea" },
    ];
    await ada.callTool({ name: "memory_remember", arguments: { entries } });
    const { structuredContent } = await ada.callTool({ name: "env_reset" });
    const { episode_id } = (structuredContent as { obs: { episode_id: string } }).obs;

    const recalled = await bob.callTool({ name: "memory_recall", arguments: {} });
    const observed = await bob.callTool({ name: "env_observe", arguments: { episode_id } });

    expect(recalled.structuredContent).toMatchObject({ total: 0 });
    expect(observed.isError).toBe(true);
    expect(
      host.sessions
        .list()
        .map((session) => session.summary().agent_id)
        .sort(),
    ).toEqual(["mcp:ada", "mcp:bob"]);
  },
);

test("two sessions of the same client share what belongs to the agent and nothing else", async () => {
  const { url } = await startHost();
  const [one, two] = [await connectSecond(url, "legacy"), await connectSecond(url, "legacy")];
  const entries = [
    { key: "note", content: "mine", tier: "working" },
    { key: "diary", content: "ours" },
  ];
  await one.callTool({ name: "memory_remember", arguments: { entries } });

  const { structuredContent } = await two.callTool({ name: "memory_recall", arguments: {} });

  expect(structuredContent).toMatchObject({ total: 1, entries: [{ content: "ours" }] });
});

test("stateless clients of one name are told apart by the agent in their address", async () => {
  const { url, host } = await startHost();
  const sent = (path: string) =>
    send(
      `${url}${path}`,
      "POST",
      { ...json, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" },
      JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/list",
        params: {
          _meta: {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { name: "twin", version: "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
          },
        },
      }),
    );

  const replies = await Promise.all([
    sent("/mcp?agent=left"),
    sent("/mcp?agent=right"),
    sent("/mcp?agent=left"),
    sent("/mcp"),
  ]);

  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const agents = host.sessions.list().map((session) => session.summary().agent_id);
  expect(agents.sort()).toEqual(["left", "mcp:twin", "right"]);
});

test("every call of an MCP client is in the audit log under its agent", async () => {
  const { url, audited } = await startHost();
  const client = await connectSecond(url, "legacy", { name: "ada" });

  await client.callTool({ name: "memory_recall", arguments: {} });
  await client.readResource({ uri: "workspace:///none" }).catch(() => {});

  const types = audited.filter(({ agent_id }) => agent_id === "mcp:ada").map(({ type }) => type);
  expect(types).toContain("memory/retrieve/req");
  expect(types).toContain("tool/call/req");
});

test("a session that its client deletes ends at once, with its stream", async () => {
  const { url, host } = await startHost();
  const { headers } = await send(`${url}/mcp`, "POST", json, initialize());
  const session = { ...json, "mcp-session-id": headers["mcp-session-id"] ?? "" };
  expect(host.sessions.size).toBe(1);

  const deleted = await send(`${url}/mcp`, "DELETE", session);
  const after = await send(`${url}/mcp`, "POST", session, listTools);

  expect(deleted.status).toBe(200);
  expect(after.status).toBe(404);
  await expect.poll(() => host.sessions.size).toBe(0);
});

test("a session that nobody uses ends; one whose stream is open does not", async () => {
  const { host } = await startHost({ limits: { sessionIdleMs: 60_000 } });
  const clock = createFakeClock();
  const door = createMcpDoor(host, { version: "1", clock });
  onTestFinished(() => door.close());
  const { createServer } = await import("node:http");
  const server = createServer((request, response) => void door.handle(request, response, "")).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const url = `http://127.0.0.1:${port}`;
  await send(`${url}/mcp`, "POST", json, initialize());
  const { headers } = await send(`${url}/mcp`, "POST", json, initialize());
  const stream = httpRequest(`${url}/mcp`, { headers: { ...json, "mcp-session-id": headers["mcp-session-id"] } }).end();
  await new Promise((resolve) => stream.once("response", resolve));
  onTestFinished(() => void stream.destroy());
  expect(door.size).toBe(2);

  clock.advance(61_000);
  door.expire();

  expect(door.size).toBe(1);
  await expect.poll(() => host.sessions.size).toBe(1);
});
