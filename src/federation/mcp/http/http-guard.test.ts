import { expect, test } from "vitest";
import type { Authenticate } from "../../../host/authentication.ts";
import { connectSecond } from "../mcp-clients.suite.ts";
import { useMcpHosts } from "../started-mcp-host.suite.ts";
import { initialize, json, listTools, send, statelessList } from "./raw-requests.suite.ts";

const startHost = useMcpHosts();

test("requests without the host's token are rejected, requests with it are answered", async () => {
  const { url, host } = await startHost({ authToken: "s3cret" });

  const refused = [
    await send(`${url}/mcp`, "POST", json, initialize()),
    await send(`${url}/mcp`, "POST", { ...json, authorization: "Bearer wrong" }, initialize()),
    await send(`${url}/mcp/sse`, "GET"),
    await send(`${url}/mcp/messages?session_id=x`, "POST", json, listTools),
  ];
  const client = await connectSecond(url, "auto", { token: "s3cret" });

  expect(refused.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
  expect(refused[0]?.headers["www-authenticate"]).toBe("Bearer");
  expect((await client.listTools()).tools.length).toBeGreaterThan(5);
  expect(host.sessions.list()[0]?.info.principal.isAuthenticated).toBe(true);
});

/** Accepts `<principal>` and `<principal>.<anything>`, as a token that was refreshed. */
function namedByToken(...known: string[]): Authenticate {
  return ({ token }) => {
    const [id = ""] = token.split(".", 1);
    return known.includes(id) ? { id, isAuthenticated: true } : undefined;
  };
}

test("a session rejects another principal, and continues with a refreshed token of its own", async () => {
  const { url, host } = await startHost({ authenticate: namedByToken("one", "two") });
  const as = (token: string) => ({ ...json, authorization: `Bearer ${token}` });
  const { headers } = await send(`${url}/mcp`, "POST", as("one"), initialize());
  const session = { "mcp-session-id": headers["mcp-session-id"] ?? "" };

  const stranger = await send(`${url}/mcp`, "POST", { ...as("two"), ...session }, listTools);
  const owner = await send(`${url}/mcp`, "POST", { ...as("one.refreshed"), ...session }, listTools);

  expect(stranger.status).toBe(404);
  expect(owner.status).toBe(200);
  expect(host.sessions.size).toBe(1);
});

test("stateless clients with the same name and different principals have separate sessions", async () => {
  const { url, host } = await startHost({ authenticate: namedByToken("one", "two") });
  const stateless = { ...json, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" };
  const as = (token: string) =>
    send(`${url}/mcp`, "POST", { ...stateless, authorization: `Bearer ${token}` }, statelessList("twin"));

  const replies = await Promise.all([as("one"), as("two"), as("one.refreshed"), as("three")]);

  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 401]);
  expect(host.sessions.size).toBe(2);
});

test.each(["2025-11-25", "2026-07-28"])("an agent that the host does not take is refused in %s", async (revision) => {
  // The token is valid, but not for this agent.
  const { url, host } = await startHost({
    authenticate: ({ agent_id }) => (agent_id === "" ? { id: "", isAuthenticated: true } : undefined),
  });
  const isStateless = revision === "2026-07-28";
  const headers = isStateless ? { ...json, "mcp-protocol-version": revision, "mcp-method": "tools/list" } : json;

  const { status } = await send(`${url}/mcp`, "POST", headers, isStateless ? statelessList() : initialize());

  expect(status).toBe(403);
  await expect.poll(() => host.sessions.size).toBe(0);
  expect((await fetch(`${url}/health`)).status).toBe(200);
});

test("a host with all sessions in use rejects a client, and accepts it after another has left", async () => {
  const { url } = await startHost({ limits: { maxSessions: 1 } });
  const { headers } = await send(`${url}/mcp`, "POST", json, initialize());

  const refused = await send(`${url}/mcp`, "POST", json, initialize());
  await send(`${url}/mcp`, "DELETE", { ...json, "mcp-session-id": headers["mcp-session-id"] ?? "" });

  expect(refused.status).toBe(503);
  expect(refused.headers["retry-after"]).toBe("1");
  await expect.poll(async () => (await send(`${url}/mcp`, "POST", json, initialize())).status).toBe(200);
});

test("a web page cannot use the host, neither by its own name nor by a name that was rebound to this machine", async () => {
  const { url, host } = await startHost();
  const { port } = new URL(url);

  const rebound = await send(`${url}/mcp`, "POST", { ...json, host: `evil.example:${port}` }, initialize());
  const foreign = await send(`${url}/mcp`, "POST", { ...json, origin: "https://evil.example" }, initialize());
  const sse = await send(`${url}/mcp/sse`, "GET", { host: "evil.example" });
  const neighbour = await send(`${url}/mcp`, "POST", { ...json, origin: "http://127.0.0.1:3000" }, initialize());
  const own = await send(`${url}/mcp`, "POST", { ...json, origin: url }, initialize());

  expect([rebound.status, foreign.status, sse.status, neighbour.status, own.status]).toEqual([403, 403, 403, 403, 200]);
  expect(host.sessions.size).toBe(1);
});

test("invalid requests are answered, and the host continues", async () => {
  const { url } = await startHost({ limits: { maxBodyBytes: 100_000 } });
  const deep = "[".repeat(40_000) + "]".repeat(40_000);
  const args = (value: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"js_eval","arguments":${value}}}`;
  const { headers } = await send(`${url}/mcp`, "POST", json, initialize());
  const known = { ...json, "mcp-session-id": headers["mcp-session-id"] ?? "" };

  const statuses = {
    noJson: (await send(`${url}/mcp`, "POST", json, "{nope")).status,
    nothing: (await send(`${url}/mcp`, "POST", json, "")).status,
    deep: (await send(`${url}/mcp`, "POST", json, deep)).status,
    deepArguments: (await send(`${url}/mcp`, "POST", known, args(`{"code":${deep}}`))).status,
    large: (await send(`${url}/mcp`, "POST", json, `"${"x".repeat(200_000)}"`)).status,
    text: (await send(`${url}/mcp`, "POST", { ...json, "content-type": "text/plain" }, initialize())).status,
    unknownSession: (await send(`${url}/mcp`, "POST", { ...json, "mcp-session-id": "x" }, listTools)).status,
    noSession: (await send(`${url}/mcp`, "POST", json, listTools)).status,
    bareStream: (await send(`${url}/mcp`, "GET", json)).status,
    put: (await send(`${url}/mcp`, "PUT", json, initialize())).status,
    messages: (await send(`${url}/mcp/messages?session_id=x`, "POST", json, listTools)).status,
    prototype: (await send(`${url}/mcp`, "POST", known, args('{"__proto__":{"a":1},"constructor":1}'))).status,
  };

  expect(statuses).toEqual({
    noJson: 400,
    nothing: 400,
    deep: 400,
    deepArguments: 400,
    large: 413,
    text: 415,
    unknownSession: 404,
    noSession: 400,
    bareStream: 405,
    put: 405,
    messages: 404,
    prototype: 200,
  });
  expect((await send(`${url}/mcp`, "POST", known, listTools)).status).toBe(200);
});
