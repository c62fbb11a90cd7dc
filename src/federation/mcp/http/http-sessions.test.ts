import { request as httpRequest } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { plugin } from "../../../plugin/plugin.ts";
import { capability } from "../../../protocol/table/capability.ts";
import { connectSecond, httpClients } from "../mcp-clients.suite.ts";
import { useMcpHosts } from "../started-mcp-host.suite.ts";
import { initialize, json, listTools, send, statelessList } from "./raw-requests.suite.ts";
import { received, sendRaw, startDoor } from "./started-door.suite.ts";

const startHost = useMcpHosts();

test.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])(
  "the revision %s is negotiated if requested",
  async (revision) => {
    const { url } = await startHost();

    const { status, body } = await send(`${url}/mcp`, "POST", json, initialize(revision));

    expect(status).toBe(200);
    expect(body).toContain(`"protocolVersion":"${revision}"`);
  },
);

test("an unknown revision is answered with the newest revision that shares its prefix", async () => {
  const { url } = await startHost();
  expect((await send(`${url}/mcp`, "POST", json, initialize("2099-01-01"))).body).toContain(
    '"protocolVersion":"2025-11-25"',
  );
});

test.each(Object.entries(httpClients))("clients of %s have separate sessions", async (_revision, connect) => {
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
});

test("two sessions of the same client share only the data of their agent", async () => {
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

test("stateless clients with the same name are distinguished by the agent in their address", async () => {
  const { url, host } = await startHost();
  const headers = { ...json, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" };
  const sent = (path: string) => send(`${url}${path}`, "POST", headers, statelessList("twin"));

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

test("an idle session ends, but not while its stream is open", async () => {
  const { host } = await startHost({ limits: { sessionIdleMs: 60_000 } });
  const { door, url, clock } = await startDoor(host);
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

test("a session of revision 2024-11-05 lasts as long as its stream, however idle", async () => {
  const { host } = await startHost({ limits: { sessionIdleMs: 60_000 } });
  const { door, url, clock } = await startDoor(host);
  const socket = await sendRaw(url, "GET /mcp/sse HTTP/1.1");
  await received(socket, /event: endpoint/);

  clock.advance(61_000);
  door.expire();
  expect(door.size).toBe(1);

  socket.destroy();
  await expect.poll(() => door.size).toBe(0);
});

test("streams of revision 2024-11-05 count as sessions", async () => {
  const { host } = await startHost({ limits: { maxSessions: 1 } });
  const { url } = await startDoor(host);
  await received(await sendRaw(url, "GET /mcp/sse HTTP/1.1"), /event: endpoint/);

  expect((await send(`${url}/mcp/sse`, "GET")).status).toBe(503);
});

/** Opens sessions only on demand. */
function slowPlugin() {
  let go = () => {};
  const opened = new Promise<void>((resolve) => {
    go = resolve;
  });
  let isAsked = false;
  const slow = plugin(capability("slow", { doc: "Takes its time.", calls: {} }), {
    async session() {
      isAsked = true;
      await opened;
      return { handlers: {} };
    },
  });
  return { plugins: [slow], go: () => go(), isAsked: () => isAsked };
}

test.each(["2025-11-25", "2026-07-28"])(
  "a client of %s that leaves while its session is being opened leaves no session that never ends",
  async (revision) => {
    const { plugins, go, isAsked } = slowPlugin();
    const { host } = await startHost({ plugins, limits: { sessionIdleMs: 60_000 } });
    const { door, url, clock, open } = await startDoor(host);
    const isStateless = revision === "2026-07-28";
    const socket = isStateless
      ? await sendRaw(
          url,
          `POST /mcp HTTP/1.1\r\nmcp-protocol-version: ${revision}\r\nmcp-method: tools/list`,
          statelessList(),
        )
      : await sendRaw(url, "POST /mcp HTTP/1.1", initialize(revision));
    await expect.poll(isAsked).toBe(true);

    socket.destroy();
    await expect.poll(() => open.size).toBe(0);
    go();
    // The next client of this kind is served, and the session of the first expires.
    expect((await send(`${url}/mcp`, "POST", json, initialize())).status).toBe(200);
    clock.advance(61_000);
    door.expire();

    await expect.poll(() => host.sessions.size).toBe(0);
    expect(door.size).toBe(0);
  },
);

test("a stateless client that returns while its idle session ends gets a new session, which stays", async () => {
  const ends: (() => void)[] = [];
  const lingering = plugin(capability("lingering", { doc: "Ends when it is told to.", calls: {} }), {
    session: () => ({ handlers: {}, close: () => new Promise<void>((resolve) => void ends.push(resolve)) }),
  });
  const { host } = await startHost({ plugins: [lingering], limits: { sessionIdleMs: 60_000 } });
  const { door, url, clock } = await startDoor(host);
  const headers = { ...json, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" };
  const list = () => send(`${url}/mcp`, "POST", headers, statelessList());
  const expire = () => {
    clock.advance(61_000);
    door.expire();
  };
  await list();

  expire();
  await expect.poll(() => ends.length).toBe(1);
  expect((await list()).status).toBe(200);
  ends[0]?.();
  await expect.poll(() => host.sessions.size).toBe(1);

  expect((await list()).status).toBe(200);
  expect([door.size, host.sessions.size]).toEqual([1, 1]);
  expire();
  await expect.poll(() => ends.length).toBe(2);
  ends[1]?.();
  await expect.poll(() => host.sessions.size).toBe(0);
});

test("a session whose first request was rejected is not kept", async () => {
  const { host } = await startHost();
  const { door, url } = await startDoor(host);

  const { status } = await send(`${url}/mcp`, "POST", { "content-type": "application/json" }, initialize());

  expect(status).toBe(406);
  await expect.poll(() => [door.size, host.sessions.size]).toEqual([0, 0]);
});

test("a door that is closed while a session is being opened keeps no session, and answers", async () => {
  const { plugins, go, isAsked } = slowPlugin();
  const { host } = await startHost({ plugins });
  const { door, url } = await startDoor(host);
  const reply = send(`${url}/mcp`, "POST", json, initialize());
  await expect.poll(isAsked).toBe(true);

  await door.close();
  go();

  expect((await reply).status).toBe(404);
  await expect.poll(() => host.sessions.size).toBe(0);
});
