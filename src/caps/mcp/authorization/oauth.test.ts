// OAuth 2.1 against a third-party authorisation server: discovery, registration, PKCE, refresh.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, test } from "vitest";
import { A2EClientError } from "../../../client/errors.ts";
import { createSecrets } from "../../../plugin/ports/secrets.ts";
import type { Principal } from "../../../plugin/principal.ts";
import { createSqliteDatabase } from "../../../stores/sqlite/sqlite-database.ts";
import { startHost } from "../../../testing/start-host.ts";
import { toolsPlugin } from "../../tools/plugin.ts";
import { mcpPlugin } from "../plugin.ts";
import type { ServerSettings } from "../server-config.ts";
import { ownServer, waitFor } from "../start-bridge.suite.ts";

interface Guarded {
  readonly issuer: string;
  readonly url: string;
  /** The tokens that the server has received so far become invalid. */
  expire(): Promise<unknown>;
  counts(): Promise<{ authorizations: number; refreshes: number; refused: number }>;
}

let folder: string;
let stop: (() => Promise<void>) | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "a2e-mcp-oauth-"));
});

afterEach(async () => {
  await stop?.();
  stop = undefined;
  await rm(folder, { recursive: true, force: true });
});

async function startGuarded(): Promise<Guarded> {
  const [command, ...args] = ownServer("authorization", import.meta.resolve("oidc-provider"));
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  stop = async () => {
    const exited = once(child, "exit");
    child.stdin.end();
    await exited;
  };
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const { issuer, url, door } = JSON.parse(line) as Record<"issuer" | "url" | "door", string>;
  return {
    issuer,
    url,
    expire: async () => (await fetch(`${door}/expire`)).json(),
    counts: async () => (await fetch(`${door}/counts`)).json() as ReturnType<Guarded["counts"]>,
  };
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function startBridge(settings: ServerSettings, authenticate?: () => Principal) {
  const port = await findFreePort();
  const path = join(folder, "a2e.sqlite");
  const started = await startHost({
    plugins: [
      toolsPlugin({ builtin: false }),
      mcpPlugin({
        servers: { tracker: settings },
        ping_interval_ms: 0,
        callback_url: `http://127.0.0.1:${port}/mcp/callback`,
      }),
    ],
    database: await createSqliteDatabase({ path }),
    secrets: createSecrets(Buffer.alloc(32, 7)),
    ...(authenticate === undefined ? {} : { authenticate }),
  });
  const info = async () => (await started.client.mcp.listServers({})).servers[0];
  const until = (status: string) =>
    waitFor(async () => {
      const found = await info();
      return found?.status === status ? found : undefined;
    }, status);
  const whoami = async () => (await started.client.tools.call({ tool_name: "tracker__whoami" })).data.data;
  return { ...started, path, until, whoami };
}

/** A browser: follows redirects with its cookies, and stops at the callback address of the host. */
async function browse(start: string): Promise<string> {
  const cookies = new Map<string, string>();
  let address = start;
  for (let steps = 0; steps < 20; steps++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(address, { redirect: "manual", headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null) throw new Error(`${response.status} at ${address}: ${await response.text()}`);
    address = new URL(location, address).href;
    if (address.includes("/mcp/callback")) return address;
  }
  throw new Error("redirected without end");
}

const ada = { content: [{ type: "text", text: "ada" }] };

test("an agent gets the address for its user, returns the callback address, and the server is ready", async () => {
  const { url, issuer, counts } = await startGuarded();
  await using bridge = await startBridge({ url, scope: "session" });

  const { authorization_url } = await bridge.until("error");
  const callback_url = await browse(authorization_url);
  const { ok, server } = await bridge.client.mcp.authorizeServer({ server_id: "tracker", callback_url });

  const asked = new URL(authorization_url);
  expect(asked.origin).toBe(issuer);
  expect(asked.searchParams.get("code_challenge_method")).toBe("S256");
  expect(asked.searchParams.get("resource")).toBe(url);
  expect({ ok, status: server.status }).toEqual({ ok: true, status: "ready" });
  expect(await bridge.whoami()).toEqual(ada);
  expect(await counts()).toMatchObject({ authorizations: 1, refused: 0 });
});

test("a callback with another state is rejected, and no code is exchanged", async () => {
  const { url, counts } = await startGuarded();
  await using bridge = await startBridge({ url, scope: "session" });

  const { authorization_url } = await bridge.until("error");
  const callback = new URL(await browse(authorization_url));
  callback.searchParams.set("state", "made up");
  const refused = bridge.client.mcp.authorizeServer({ server_id: "tracker", callback_url: callback.href });

  await expect(refused).rejects.toMatchObject({ code: "forbidden" });
  expect(await counts()).toMatchObject({ authorizations: 0 });
});

test("the operator authorises a shared server with a browser on this machine, by the address in the log", async () => {
  const { url } = await startGuarded();
  await using bridge = await startBridge({ url, scope: "shared" });

  const { authorization_url } = await bridge.until("error");
  const logged = bridge.log.entries.find(({ message }) => message.includes("requires authorisation"));
  const callback_url = await browse(String(logged?.fields.url));
  const byAgent = bridge.client.mcp.authorizeServer({ server_id: "tracker", callback_url });
  await expect(byAgent).rejects.toMatchObject({ code: "forbidden" });
  const page = await fetch(callback_url);

  expect(authorization_url).toBe("");
  expect(page.status).toBe(200);
  await bridge.until("ready");
  expect(await bridge.whoami()).toEqual(ada);
  await expect(fetch(callback_url)).rejects.toThrow();
});

test("an expired token is refreshed once for all calls that need it", async () => {
  const { url, counts, expire } = await startGuarded();
  await using bridge = await startBridge({ url, scope: "session" });
  const { authorization_url } = await bridge.until("error");
  await bridge.client.mcp.authorizeServer({ server_id: "tracker", callback_url: await browse(authorization_url) });

  await expire();
  const answers = await Promise.all(Array.from({ length: 8 }, () => bridge.whoami()));

  expect(answers).toEqual(Array(8).fill(ada));
  expect(await counts()).toEqual({ authorizations: 1, refreshes: 1, refused: 0 });
});

test("tokens are encrypted on the disk, and the next start of the host needs no user", async () => {
  const { url, counts } = await startGuarded();
  const first = await startBridge({ url });
  await first.until("error");
  const logged = first.log.entries.find(({ message }) => message.includes("requires authorisation"));
  await fetch(await browse(String(logged?.fields.url)));
  await first.until("ready");
  await first.close();

  const stored = await readFile(first.path, "latin1");
  await using second = await startBridge({ url });

  expect(await second.whoami()).toEqual(ada);
  expect(await counts()).toMatchObject({ authorizations: 1 });
  expect(stored).toContain("mcp_credentials");
  expect(stored).not.toMatch(/access_token|refresh_token/);
});

test("an authorisation that failed can be started again by the next call", async () => {
  const { url } = await startGuarded();
  await using bridge = await startBridge({ url, scope: "session" });
  const { authorization_url } = await bridge.until("error");
  const callback = new URL(await browse(authorization_url));
  callback.searchParams.set("code", "made up");

  const failed = bridge.client.mcp.authorizeServer({ server_id: "tracker", callback_url: callback.href });
  await expect(failed).rejects.toMatchObject({ code: "mcp_server_unavailable" });
  const refused = await bridge.client.mcp.listPrompts({ server_id: "tracker" }).catch((error: A2EClientError) => error);
  const again = refused instanceof A2EClientError ? String(refused.detail.authorization_url) : "";
  await bridge.client.mcp.authorizeServer({ server_id: "tracker", callback_url: await browse(again) });

  expect(again).not.toBe(authorization_url);
  expect(await bridge.whoami()).toEqual(ada);
});

test("two sessions of one agent can be authorised at the same time", async () => {
  const { url, counts } = await startGuarded();
  await using bridge = await startBridge({ url, scope: "session" }, () => ({
    id: "token",
    agentId: "ada",
    isAuthenticated: true,
  }));
  const other = await bridge.connect();
  const first = await bridge.until("error");
  const second = await waitFor(async () => {
    const [server] = (await other.mcp.listServers({})).servers;
    return server?.authorization_url === "" ? undefined : server;
  }, "an address");

  const callbacks = [await browse(first.authorization_url), await browse(second?.authorization_url ?? "")] as const;
  await bridge.client.mcp.authorizeServer({ server_id: "tracker", callback_url: callbacks[0] });
  await other.mcp.authorizeServer({ server_id: "tracker", callback_url: callbacks[1] });

  expect(await bridge.whoami()).toEqual(ada);
  expect(await counts()).toMatchObject({ refused: 0 });
});

test("an authorisation server with another issuer than the configured one is not used", async () => {
  const { url, counts } = await startGuarded();
  await using bridge = await startBridge({ url, scope: "session", oauth: { issuer: "https://issuer.test" } });

  const { error, authorization_url } = await bridge.until("error");

  expect(error).toContain("oauth.issuer is https://issuer.test");
  expect(authorization_url).toBe("");
  expect(await counts()).toMatchObject({ authorizations: 0 });
});

test.each([
  [{ grant: "client_credentials" }, "client_credentials needs client_id"],
  [{ grant: "client_credentials", client_id: "a" }, "client_secret or private_key"],
  [{ grant: "identity_assertion", client_id: "a", client_secret: "b" }, "identity_assertion needs identity_provider"],
] as const)("a grant that lacks something says what: %j", async (oauth, missing) => {
  await using bridge = await startBridge({ url: "http://127.0.0.1:1/mcp", oauth });

  expect((await bridge.until("error")).error).toContain(missing);
});
