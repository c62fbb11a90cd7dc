import { expect, onTestFinished, test } from "vitest";
import { tools } from "../caps/tools/protocol.ts";
import { toHostConfig } from "../config/parsing.ts";
import type { A2EHostConfigInput } from "../config/schema.ts";
import { core } from "../protocol/core.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { openApiKeyFile } from "./api-key-file.ts";
import { startConfiguredServer } from "./configured-server.ts";
import { connect } from "./connect-node.ts";

const nextFolder = useTemporaryFolder();
const silent = { info() {}, warn() {}, error() {} };

async function start(input: A2EHostConfigInput = {}) {
  const config = toHostConfig(
    { auth: { keys: true }, plugins: [{ type: "tools" }], server: { port: 0 }, ...input },
    { baseDir: nextFolder(), env: {} },
  );
  const server = await startConfiguredServer(config);
  onTestFinished(() => server.close(0));
  const file = await openApiKeyFile({ dataDir: config.data_dir, log: silent, isWatched: false });
  onTestFinished(() => file.close());
  const open = async (authToken: string, agentId = "worker") => {
    const client = await connect(server.url, { authToken, agentId });
    onTestFinished(() => client.disconnect().catch(() => {}));
    return client;
  };
  return { server, keys: file.keys, open };
}

const statusOf = async (url: string, token: string, method = "GET") =>
  (await fetch(url, { method, headers: { authorization: `Bearer ${token}` } })).status;

test("a shared token without roles may do nothing", async () => {
  const { server, open } = await start({ auth_token: "shared", auth: { keys: true, default_roles: { token: [] } } });
  const client = await open("shared");
  await expect(client.use(tools).call({ tool_name: "list_dir" })).rejects.toMatchObject({ code: "forbidden" });
  expect(await statusOf(`${server.url}/sessions`, "shared")).toBe(401);
});

test("an observer cannot save or restore its session by the routes of HTTP either", async () => {
  const { server, keys, open } = await start();
  const client = await open(keys.create({ id: "eve", roles: ["observer"] }).key);
  const base = `${server.url}/session/${client.sessionId}`;
  for (const route of ["snapshot", "restore"]) {
    const response = await fetch(`${base}/${route}`, { method: "POST", body: "{}" });
    expect(response.status).toBe(403);
  }
});

test("only a key that is an operator without further roles and scopes may list sessions", async () => {
  const { server, keys, open } = await start({ roles: { none: { allow: [], deny: ["*"] } } });
  const operator = keys.create({ id: "op", roles: ["operator"] }).key;
  const scoped = keys.create({ id: "scoped", roles: ["operator"], scopes: ["tools/list"] }).key;
  const denied = keys.create({ id: "denied", roles: ["operator", "none"] }).key;
  const { token: narrowed } = await (await open(operator)).use(core).token({});
  const statuses = await Promise.all(
    [operator, scoped, denied, narrowed].map((token) => statusOf(`${server.url}/sessions`, token)),
  );
  expect(statuses).toEqual([200, 401, 401, 401]);
});

test("sessions that a key creates and does not open take no place from others", async () => {
  const { server, keys, open } = await start({ global_limits: { max_sessions: 3 } });
  const greedy = keys.create({ id: "greedy", roles: ["agent"] }).key;
  for (let count = 0; count < 40; count++) expect(await statusOf(`${server.url}/session`, greedy, "POST")).toBe(200);
  const client = await open(keys.create({ id: "other", roles: ["agent"] }).key);
  expect((await client.use(tools).list({})).tools.length).toBeGreaterThan(0);
  expect(server.host.sessions.size).toBeLessThanOrEqual(40);
});

test("a token with depth 0 cannot be passed on, and each token that is minted may be passed on once less", async () => {
  const { keys, open } = await start();
  const client = await open(keys.create({ id: "root", roles: ["agent"] }).key);
  const { token } = await client.use(core).token({ depth: 1 });
  const below = await (await open(token, "child")).use(core).token({});
  const last = await open(below.token, "grandchild");
  await expect(last.use(core).token({})).rejects.toMatchObject({ code: "forbidden" });
});

test("a narrowed token does not reach the session of its parent at /mcp by claiming its name", async () => {
  const { server, keys, open } = await start();
  const { key } = keys.create({ id: "root", roles: ["agent"] });
  const { token } = await (await open(key)).use(core).token({ tools: ["list_dir"] });
  const call = async (authToken: string, name: string) => {
    const response = await fetch(`${server.url}/mcp?agent=main`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${authToken}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": name,
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: {
          name,
          arguments: name === "write_file" ? { path: "a.txt", content: "x" } : {},
          _meta: {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { name: "main", version: "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
          },
        },
      }),
    });
    return response.text();
  };
  expect(await call(key, "list_dir")).toContain('"result"');
  expect(await call(token, "list_dir")).toContain('"result"');
  const refused = await call(token, "write_file");
  expect(refused).toMatch(/forbidden|unknown|no tool|not found/i);
  expect(await call(key, "list_dir")).not.toContain("a.txt");
});

test("a fork beyond the sessions of its principal is refused, and no session is made", async () => {
  const { server, keys, open } = await start({ quotas: { default: { max_sessions: 1 } } });
  const client = await open(keys.create({ id: "one", roles: ["agent"] }).key);
  await expect(client.use(core).fork({})).rejects.toMatchObject({ code: "rate_limited" });
  expect(server.host.sessions.size).toBe(1);
});
