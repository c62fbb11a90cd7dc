import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { memory } from "../caps/memory/protocol.ts";
import { tools } from "../caps/tools/protocol.ts";
import { A2EClient } from "../client/client.ts";
import { toHostConfig } from "../config/parsing.ts";
import type { A2EHostConfigInput } from "../config/schema.ts";
import { audience, createTestIssuer, issuer } from "../credentials/jwt.suite.ts";
import { createLogger } from "../plugin/logger.ts";
import { core } from "../protocol/core.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { narrowToken } from "../tokens/narrow-token.ts";
import { createDirectTransport } from "../transports/direct.ts";
import { openApiKeyFile } from "./api-key-file.ts";
import { startConfiguredHost } from "./configured-host.ts";
import { type ConfiguredServer, startConfiguredServer } from "./configured-server.ts";
import { connect } from "./connect-node.ts";
import { replayConfigured } from "./replay.ts";

const nextFolder = useTemporaryFolder();
const silent = { info() {}, warn() {}, error() {} };

const roles = {
  researcher: { allow: ["tools/list", "tool:read_*", "memory/*"], deny: ["ns:secret-*"] },
};

/** A host with API keys, and the keys as `a2e keys` opens them: by a connection of their own. */
async function start(input: A2EHostConfigInput = {}) {
  const folder = nextFolder();
  const lines: string[] = [];
  const config = toHostConfig(
    { roles, auth: { keys: true }, plugins: [{ type: "tools" }, { type: "memory" }], server: { port: 0 }, ...input },
    { baseDir: folder, env: {} },
  );
  const server = await startConfiguredServer(config, { log: createLogger((line) => void lines.push(line)) });
  onTestFinished(() => server.close(0));
  const file = await openApiKeyFile({ dataDir: config.data_dir, log: silent, isWatched: false });
  onTestFinished(() => file.close());
  return { server, keys: file.keys, config, lines };
}

const isWebSocket = [false, true];

async function open(server: ConfiguredServer, authToken: string, options: { agentId?: string; ws?: boolean } = {}) {
  const { agentId = "worker", ws = false } = options;
  const url = ws ? server.url.replace("http", "ws") : server.url;
  const client = await connect(url, { authToken, agentId });
  onTestFinished(() => client.disconnect().catch(() => {}));
  return client;
}

async function auditOf(server: ConfiguredServer, dataDir: string): Promise<Record<string, unknown>[]> {
  await server.close(0);
  const text = await readFile(join(dataDir, "audit.jsonl"), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

test.each(isWebSocket)("a key is let in with the rights of its roles (WebSocket: %s)", async (ws) => {
  const { server, keys, config } = await start();
  const { key } = keys.create({ id: "ada", roles: ["researcher"] });
  const client = await open(server, key, { ws });
  const { tools: shown } = await client.use(tools).list({});
  expect(shown.length).toBeGreaterThan(0);
  expect(shown.every(({ name }) => name.startsWith("read_"))).toBe(true);
  await expect(client.use(tools).call({ tool_name: "js_eval", arguments: { code: "1" } })).rejects.toMatchObject({
    code: "forbidden",
  });
  await client.use(memory).init({ namespace: "notes" });
  await expect(client.use(memory).init({ namespace: "secret-notes" })).rejects.toMatchObject({ code: "forbidden" });
  const entries = await auditOf(server, config.data_dir);
  expect(entries.filter(({ error_code }) => error_code === "forbidden")).toMatchObject([
    { principal: "key:ada", agent_id: "worker", chain: ["key:ada"], rule: "no role allows it" },
    { principal: "key:ada", rule: "role researcher: deny ns:secret-*" },
  ]);
});

test.each(isWebSocket)("peers without a valid key are refused (WebSocket: %s)", async (ws) => {
  const { server, keys, lines } = await start();
  const { key } = keys.create({ id: "ada", roles: ["agent"] });
  const expired = keys.create({ id: "old", roles: ["agent"], expiresAt: Date.now() - 1 });
  const revoked = keys.create({ id: "gone", roles: ["agent"] });
  keys.revoke("gone");
  const wrong = `${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`;
  for (const token of ["", "guess", wrong, expired.key, revoked.key]) {
    await expect(open(server, token, { ws })).rejects.toMatchObject({ code: "handshake_failed" });
  }
  const log = lines.join("");
  expect(log).toContain("reason=revoked");
  expect(log).toContain("reason=expired");
  for (const { key: secret } of [expired, revoked]) expect(log).not.toContain(secret);
});

test("a session ends as revoked when its key is revoked elsewhere, and continues when its key is rotated", async () => {
  const { server, keys } = await start();
  const { key } = keys.create({ id: "ada", roles: ["agent"] });
  const other = keys.create({ id: "bob", roles: ["agent"] });
  const client = await open(server, key);
  const bob = await open(server, other.key);
  keys.rotate("bob");
  keys.revoke("ada");
  await expect.poll(() => server.host.sessions.list().map(({ info }) => info.principal.id)).toEqual(["key:bob"]);
  await expect(client.ping()).rejects.toThrow();
  await bob.use(tools).list({});
  await expect(open(server, other.key)).rejects.toMatchObject({ code: "handshake_failed" });
});

test("a session of a key that was revoked while the host was down is not resumed", async () => {
  const { server, keys, config } = await start();
  const { key } = keys.create({ id: "ada", roles: ["agent"] });
  const client = await connect(server.url, { authToken: key, agentId: "ada" });
  const { sessionId } = client;
  await client.use(tools).list({});
  await server.close(0);
  keys.revoke("ada");
  const again = await startConfiguredServer(config);
  onTestFinished(() => again.close(0));
  const session = await again.host.sessions.find(sessionId);
  await expect.poll(() => session?.status).toBe("closed");
});

test("two keys whose agents claim the same name have different episodic memories", async () => {
  const { server, keys } = await start();
  const one = await open(server, keys.create({ id: "one", roles: ["agent"] }).key, { agentId: "ada" });
  const two = await open(server, keys.create({ id: "two", roles: ["agent"] }).key, { agentId: "ada" });
  await one.use(memory).store({ entries: [{ key: "plan", content: "mine", tier: "episodic" }] });
  expect((await two.use(memory).retrieve({ tier: "episodic" })).entries).toEqual([]);
  expect((await one.use(memory).retrieve({ tier: "episodic" })).entries).toHaveLength(1);
});

test("a host whose only credential is the shared token has its principal as before", async () => {
  const { server } = await start({ auth_token: "hush", auth: {} });
  await open(server, "hush", { agentId: "ada" });
  const [session] = server.host.sessions.list();
  expect(session?.info.principal).toEqual({ id: "token", isAuthenticated: true, agentId: "ada" });
  await expect(open(server, "wrong")).rejects.toMatchObject({ code: "handshake_failed" });
});

test("the shared token works beside keys, with the roles of its own if it has some", async () => {
  const { server } = await start({ auth_token: "hush", auth: { keys: true, default_roles: { token: ["observer"] } } });
  const client = await open(server, "hush");
  await client.use(tools).list({});
  await expect(client.use(memory).store({ entries: [] })).rejects.toMatchObject({ code: "forbidden" });
});

test("a role that the host does not have grants nothing, and is logged once", async () => {
  const { server, keys, lines } = await start();
  const { key } = keys.create({ id: "ada", roles: ["gone"] });
  for (let round = 0; round < 2; round++) {
    const client = await open(server, key);
    await expect(client.use(tools).call({ tool_name: "read_file" })).rejects.toMatchObject({ code: "forbidden" });
  }
  expect(lines.filter((line) => line.includes("role=gone"))).toHaveLength(1);
});

test("scopes of a key restrict its roles", async () => {
  const { server, keys } = await start();
  const { key } = keys.create({ id: "ada", roles: ["agent"], scopes: ["memory/*"] });
  const client = await open(server, key);
  await client.use(memory).init({ namespace: "notes" });
  await expect(client.use(tools).list({})).rejects.toMatchObject({ code: "forbidden" });
});

test("a memory by its id is checked by its namespace, and no id stands for the memory in use", async () => {
  const { server, keys } = await start({ roles: { notes: { allow: ["ns:notes", "ns:default"], deny: [] } } });
  const { key } = keys.create({ id: "ada", roles: ["notes"] });
  const other = keys.create({ id: "bob", roles: ["agent"] });
  const client = await open(server, key);
  await client.use(memory).retrieve({});
  const { memory_id } = await client.use(memory).init({ namespace: "notes" });
  await client.use(memory).store({ memory_id, entries: [] });
  await client.use(memory).retrieve({});
  const foreign = await (await open(server, other.key)).use(memory).init({ namespace: "secret" });
  const refused = client.use(memory).retrieve({ memory_id: foreign.memory_id });
  await expect(refused).rejects.toMatchObject({ code: "forbidden" });
});

test("a recorded session with restricted rights is replayed without the roles of its host", async () => {
  const { server, keys, config } = await start({ recording: { enabled: true } });
  const { key } = keys.create({ id: "ada", roles: ["researcher"] });
  const client = await open(server, key);
  await client.use(tools).list({});
  await expect(client.use(tools).call({ tool_name: "js_eval" })).rejects.toMatchObject({ code: "forbidden" });
  await client.use(memory).init({ namespace: "notes" });
  await client.disconnect();
  await server.close(0);
  const [name = ""] = await readdir(config.recording.path);
  const recording = await readFile(join(config.recording.path, name), "utf8");
  expect(recording).not.toContain(key);
  const { roles: _, auth: __, ...rest } = config;
  const report = await replayConfigured(recording, { ...rest, roles: {}, auth: toHostConfig({}, { env: {} }).auth });
  expect(report).toMatchObject({ is_identical: true });
  expect(report.messages).toBeGreaterThan(3);
});

test("a session mints a token with less than its rights, which ends with the key of its principal", async () => {
  const { server, keys, config } = await start();
  const { key } = keys.create({ id: "ada", roles: ["agent"] });
  const parent = await open(server, key);
  const caveats = { capabilities: ["tools", "memory"], tools: ["read_*"], namespaces: ["notes"] };
  const { token } = await parent.use(core).token(caveats);
  const child = await open(server, token, { ws: true });
  const { tools: shown } = await child.use(tools).list({});
  expect(shown.every(({ name }) => name.startsWith("read_"))).toBe(true);
  await child.use(memory).init({ namespace: "notes" });
  const forbidden = { code: "forbidden" };
  await expect(child.use(tools).call({ tool_name: "js_eval" })).rejects.toMatchObject(forbidden);
  await expect(child.use(memory).init({ namespace: "other" })).rejects.toMatchObject(forbidden);
  await expect(child.use(core).fork({})).rejects.toMatchObject(forbidden);
  await expect(parent.use(core).token({ tools: [" "] })).rejects.toMatchObject({ code: "schema_violation" });
  const expired = narrowToken(token, { expires_at: 1 });
  const elsewhere = narrowToken(token, { audience: ["another-host"] });
  for (const refused of [expired, elsewhere, `${token.slice(0, -2)}AA`]) {
    await expect(open(server, refused)).rejects.toMatchObject({ code: "handshake_failed" });
  }
  keys.revoke("ada");
  await expect.poll(() => server.host.sessions.list().filter(({ status }) => status === "open")).toEqual([]);
  await expect(open(server, token)).rejects.toMatchObject({ code: "handshake_failed" });
  const [entry] = (await auditOf(server, config.data_dir)).filter(({ error_code }) => error_code === "forbidden");
  expect(entry).toMatchObject({ principal: "key:ada", rule: "no role allows it" });
  expect(String(entry?.chain).split(",").length).toBeGreaterThan(2);
});

test("tokens of the shared token are refused once the shared token is another", async () => {
  const { server, config } = await start({ auth_token: "hush", auth: {} });
  const { token } = await (await open(server, "hush")).use(core).token({ tools: ["read_*"] });
  await open(server, token);
  await server.close(0);
  const again = await startConfiguredServer({ ...config, auth_token: "other" });
  onTestFinished(() => again.close(0));
  await expect(open(again, token)).rejects.toMatchObject({ code: "handshake_failed" });
});

test("a host without credentials mints no tokens", async () => {
  const { server } = await start({ auth: {} });
  await expect((await open(server, "")).use(core).token({})).rejects.toMatchObject({ code: "runtime_error" });
});

test("a JWT of an issuer names principal, agent and roles, and is refreshed in the same session", async () => {
  const as = await createTestIssuer(() => Date.now());
  const realFetch = globalThis.fetch;
  const fetched = vi
    .spyOn(globalThis, "fetch")
    .mockImplementation((input, init) =>
      String(input).startsWith(issuer) ? as.fetch(input as string, init) : realFetch(input, init),
    );
  onTestFinished(() => fetched.mockRestore());
  const claims = { principal: "sub", roles: "scope", agent: "agent" };
  const jwt = [{ issuer, audience: [audience], claims, roles: ["observer"] }];
  const { server } = await start({ auth: { jwt } });
  const client = await open(server, await as.sign({ scope: "researcher unknown", agent: "robot" }), { agentId: "x" });
  const [session] = server.host.sessions.list();
  expect(session?.info.principal).toMatchObject({ id: `${issuer}|alice`, agentId: "robot" });
  await expect(client.use(tools).call({ tool_name: "js_eval" })).rejects.toMatchObject({ code: "forbidden" });
  const before = session?.info.principal.expiresAt ?? 0;
  const exp = Math.floor(Date.now() / 1000) + 3000;
  const auth_token = await as.sign({ exp, agent: "robot", scope: "agent" });
  const answer = await client.use(core).handshake({ agent_id: "x", agent_caps: ["tools"], auth_token });
  expect(answer).toMatchObject({ ok: true, session_id: session?.id });
  expect(session?.info.principal.expiresAt).toBeGreaterThan(before);
  const other = { agent_id: "x", agent_caps: ["tools"], auth_token: await as.sign({ sub: "mallory", agent: "robot" }) };
  expect(await client.use(core).handshake(other)).toMatchObject({ ok: false, reason: "auth_failed" });
  const watcher = await open(server, await as.sign({ sub: "bob" }));
  await expect(watcher.use(memory).store({ entries: [] })).rejects.toMatchObject({ code: "forbidden" });
  for (const wrong of [{ aud: "https://other.example" }, { exp: 1 }, { iss: "https://evil.example" }]) {
    await expect(open(server, await as.sign(wrong))).rejects.toMatchObject({ code: "handshake_failed" });
  }
});

test("an agent at the other end of a pipe acts for the user who started the host", async () => {
  const config = toHostConfig({ auth: { keys: true } }, { baseDir: nextFolder(), env: {} });
  const host = await startConfiguredHost(config, { areSessionsKept: false, user: "ann" });
  onTestFinished(() => host.close(0));
  const client = await A2EClient.connect({ transport: createDirectTransport(() => host.sessions.create()) });
  await client.use(tools).list({});
  expect(host.sessions.list()[0]?.info.principal).toMatchObject({ id: "user:ann", isAuthenticated: true });
  const wrong = { transport: createDirectTransport(() => host.sessions.create()), authToken: "guess" };
  await expect(A2EClient.connect(wrong)).rejects.toMatchObject({ code: "handshake_failed" });
});

test("only operators list the sessions of a host", async () => {
  const { server, keys } = await start();
  const status = async (roles: string[]) => {
    const { key } = keys.create({ id: roles[0] ?? "", roles });
    return (await fetch(`${server.url}/sessions`, { headers: { authorization: `Bearer ${key}` } })).status;
  };
  expect(await status(["agent"])).toBe(401);
  expect(await status(["operator"])).toBe(200);
});
