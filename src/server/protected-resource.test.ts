import { discoverOAuthProtectedResourceMetadata, extractWWWAuthenticateParams } from "@modelcontextprotocol/client";
import { expect, onTestFinished, test } from "vitest";
import { createMcpRoute } from "../compose/mcp-route.ts";
import { send } from "../federation/mcp/http/raw-requests.suite.ts";
import { startEchoHost } from "../transports/echo-host.suite.ts";
import { type ServerOptions, startServer } from "./http-server.ts";

const issuers = ["https://login.example"];

async function start(options: ServerOptions) {
  const host = await startEchoHost({ authToken: "s3cret" });
  const server = await startServer(host, { port: 0, routes: [createMcpRoute(host)], ...options });
  onTestFinished(async () => {
    await host.close(0);
    await server.close();
  });
  return server;
}

test("the official MCP client finds the authorization server by the 401 of /mcp and by the well-known address", async () => {
  const { url } = await start({ authorization: { issuers, scopes: ["agent", "observer"] } });
  const refused = await fetch(`${url}/mcp`, { method: "POST" });
  expect(refused.status).toBe(401);
  const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(refused);
  expect([String(resourceMetadataUrl), scope, error]).toEqual([
    `${url}/.well-known/oauth-protected-resource/mcp`,
    "agent observer",
    undefined,
  ]);
  const metadata = {
    resource: `${url}/mcp`,
    authorization_servers: issuers,
    scopes_supported: ["agent", "observer"],
    bearer_methods_supported: ["header"],
  };
  expect(
    await discoverOAuthProtectedResourceMetadata(`${url}/mcp`, { resourceMetadataUrl: resourceMetadataUrl ?? "" }),
  ).toEqual(metadata);
  expect(await discoverOAuthProtectedResourceMetadata(`${url}/mcp`)).toEqual(metadata);
  expect(await discoverOAuthProtectedResourceMetadata(url)).toEqual({ ...metadata, resource: url });
});

test("a token that is not valid is called that, and the other routes refer to the host as a whole", async () => {
  const { url } = await start({ authorization: { issuers } });
  const headers = { authorization: "Bearer wrong" };
  for (const [path, resource] of [
    ["/mcp", "/mcp"],
    ["/mcp/sse", "/mcp"],
    ["/sessions", ""],
  ] as const) {
    const refused = await fetch(`${url}${path}`, { headers });
    expect(refused.headers.get("www-authenticate"), path).toBe(
      `Bearer error="invalid_token", resource_metadata="${url}/.well-known/oauth-protected-resource${resource}"`,
    );
  }
});

test("behind a proxy, the metadata has the public address, with and without its path", async () => {
  const publicUrl = "https://agents.example/a2e/";
  const { url } = await start({ authorization: { issuers }, publicUrl, allowedHosts: ["agents.example"] });
  const ask = async (path: string) => {
    const { status, body } = await send(`${url}${path}`, "GET", { host: "agents.example" });
    return status === 200 ? (JSON.parse(body) as { resource: string }).resource : status;
  };
  expect(await ask("/.well-known/oauth-protected-resource/a2e/mcp")).toBe("https://agents.example/a2e/mcp");
  expect(await ask("/.well-known/oauth-protected-resource/mcp")).toBe("https://agents.example/a2e/mcp");
  expect(await ask("/.well-known/oauth-protected-resource/a2e")).toBe("https://agents.example/a2e");
  const { headers } = await send(`${url}/mcp`, "POST", { host: "agents.example" });
  expect(headers["www-authenticate"]).toBe(
    'Bearer resource_metadata="https://agents.example/.well-known/oauth-protected-resource/a2e/mcp"',
  );
});

test("without a public address, the resource is the address that the client has used", async () => {
  const { url, port } = await start({ authorization: { issuers } });
  const { body } = await send(`${url}/.well-known/oauth-protected-resource/mcp`, "GET", { host: `localhost:${port}` });
  expect(JSON.parse(body).resource).toBe(`http://localhost:${port}/mcp`);
});

test("a Host header that is not a name does not make the challenge fail", async () => {
  const { port } = await start({ authorization: { issuers }, host: "0.0.0.0" });
  const { status, headers } = await send(`http://127.0.0.1:${port}/mcp`, "POST", { host: 'x"y:z' });
  expect(status).toBe(401);
  expect(headers["www-authenticate"]).toBe(
    'Bearer resource_metadata="http://localhost/.well-known/oauth-protected-resource/mcp"',
  );
});

test("a host without authorization servers has no metadata and a plain challenge", async () => {
  const { url } = await start({});
  expect((await fetch(`${url}/.well-known/oauth-protected-resource`)).status).toBe(404);
  expect((await fetch(`${url}/mcp`)).headers.get("www-authenticate")).toBe("Bearer");
});
