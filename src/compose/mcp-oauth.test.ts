import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterEach, expect, test } from "vitest";
import { toHostConfig } from "../config/parsing.ts";
import { startOidcIssuer } from "../credentials/oidc-issuer.suite.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { startConfiguredServer } from "./configured-server.ts";

const newPlace = useTemporaryFolder();
const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A host that accepts the tokens of an authorization server, and nothing else. */
async function start() {
  const audience = "https://agents.example";
  const issuer = await startOidcIssuer(audience);
  closers.push(() => issuer.close());
  const place = newPlace();
  const jwt = [{ issuer: issuer.issuer, audience: [audience] }];
  const config = toHostConfig(
    { server: { port: 0 }, data_dir: `${place}/data`, workspace_dir: place, auth: { jwt } },
    { env: {} },
  );
  const server = await startConfiguredServer(config);
  closers.push(() => server.close(0));
  return { issuer, url: new URL(`${server.url}/mcp`), host: server.host };
}

test("the official client finds the authorization server of /mcp, gets a token there and calls a tool", async () => {
  const { url, issuer, host } = await start();
  const provider = new ClientCredentialsProvider({
    clientId: "ci-bot",
    clientSecret: "client secret",
    scope: "agent",
    expectedIssuer: issuer.issuer,
  });
  const client = new Client({ name: "oauth", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(url, { authProvider: provider }));
  closers.push(() => client.close());

  const { tools } = await client.listTools();

  expect(tools.map(({ name }) => name)).toContain("list_dir");
  expect(await client.callTool({ name: "list_dir", arguments: {} })).not.toMatchObject({ isError: true });
  expect(host.sessions.list().map((session) => session.summary().principal)).toEqual([
    expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\|ci-bot$/),
  ]);
});

test("a client that has refreshed its token keeps its session and its working memory", async () => {
  const { url, issuer, host } = await start();
  let token = await issuer.issueToken();
  const authProvider = { token: async () => token };
  const client = new Client({ name: "oauth", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(url, { authProvider }));
  closers.push(() => client.close());
  const entries = [{ key: "drink", content: "tea", tier: "working" }];
  await client.callTool({ name: "memory_remember", arguments: { entries } });

  const refreshed = await issuer.issueToken();
  expect(refreshed).not.toBe(token);
  token = refreshed;

  const principalOf = () => host.sessions.list()[0]?.info.principal;
  const before = principalOf();
  const { structuredContent } = await client.callTool({ name: "memory_recall", arguments: { query: "tea" } });
  // Authenticated anew, so that the rights and the expiry are those of the new token.
  expect(principalOf()).not.toBe(before);
  expect(principalOf()?.id).toBe(before?.id);
  expect(structuredContent).toMatchObject({ total: 1 });
  expect(host.sessions.size).toBe(1);
});

test.each([
  ["no token", undefined],
  ["a token that is not of an issuer", "eyJhbGciOiJub25lIn0.e30."],
])("%s is answered with 401 and the address of the metadata", async (_title, token) => {
  const { url } = await start();
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const response = await fetch(url, { method: "POST", headers, body: "{}" });
  expect(response.status).toBe(401);
  const challenge = response.headers.get("www-authenticate") ?? "";
  const [, metadata = ""] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
  expect(await (await fetch(metadata)).json()).toMatchObject({
    resource: url.href,
    authorization_servers: [expect.stringMatching(/^http:\/\/127\.0\.0\.1/)],
    scopes_supported: expect.arrayContaining(["agent", "observer", "operator"]),
  });
});
