import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import type { JsonObject } from "../../../../protocol/json.ts";
import { toolkitLimits } from "../../limits.ts";
import { startToolkits } from "../../start-toolkits.suite.ts";

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  servers.push(server);
  await new Promise((resolve) => server.once("listening", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const start = (http: { allow_private?: boolean; max_bytes?: number; timeout_ms?: number } = { allow_private: true }) =>
  startToolkits({ builtin: ["http"], http });

/** A host whose http toolkit uses a server that records its requests. */
async function startWith(listener: RequestListener, config: JsonObject = {}) {
  const asked: IncomingMessage[] = [];
  const origin = await serve((request, response) => {
    asked.push(request);
    listener(request, response);
  });
  const host = await start();
  await host.configure("http", { base_url: `${origin}/v1`, ...config });
  return { ...host, asked, origin, request: (args: JsonObject) => host.call("http__request", args) };
}

test("a request is sent below the base URL, with the headers of the config", async () => {
  const secrets = { secret_headers: { "X-Api-Key": "k3y-value" }, bearer_token: "t0ken-value" };
  await using host = await startWith(
    (_request, response) => response.setHeader("content-type", "application/json").end('{"ok":true}'),
    { headers: { "X-Client": "a2e" }, ...secrets },
  );
  const data = await host.request({ path: "/users/7", query: { q: "a b&c" }, headers: { accept: "application/json" } });
  expect(data).toMatchObject({ status: 200, json: { ok: true }, url: `${host.origin}/v1/users/7?q=a+b%26c` });
  expect(host.asked[0]?.url).toBe("/v1/users/7?q=a+b%26c");
  expect(host.asked[0]?.headers).toMatchObject({
    "x-client": "a2e",
    "x-api-key": "k3y-value",
    authorization: "Bearer t0ken-value",
    accept: "application/json",
  });
});

test("secrets that a server repeats do not reach the agent", async () => {
  const bearer_token = "t0ken-value-that-is-secret";
  await using host = await startWith(
    (request, response) => {
      response.setHeader("etag", String(request.headers.authorization));
      response.end(`you sent ${request.headers.authorization} ${Buffer.from(bearer_token).toString("base64")}`);
    },
    { bearer_token },
  );
  const text = JSON.stringify(await host.request({}));
  expect(text).toContain("[secret]");
  expect(text).not.toContain(bearer_token);
  expect(text).not.toContain(Buffer.from(bearer_token).toString("base64").replace(/=+$/, ""));
});

test("methods that the config does not allow are rejected, and JSON is sent as JSON", async () => {
  const bodies: string[] = [];
  const listener: RequestListener = (request, response) => {
    request.on("data", (chunk) => bodies.push(String(chunk)));
    request.on("end", () =>
      response.writeHead(201, { "content-type": "text/plain" }).end(request.headers["content-type"]),
    );
  };
  await using host = await startWith(listener);
  await expect(host.request({ method: "POST" })).rejects.toMatchObject({ code: "forbidden" });
  await host.configure("http", { base_url: host.origin, methods: ["POST"] });
  expect(await host.request({ method: "POST", path: "x", json: { a: [1] } })).toMatchObject({
    status: 201,
    text: "application/json",
  });
  expect(bodies).toEqual(['{"a":[1]}']);
  await expect(host.request({})).rejects.toMatchObject({ code: "forbidden" });
});

test("redirects are followed below the base URL only", async () => {
  const other = await serve((_request, response) => response.end("stolen"));
  await using host = await startWith(
    (request, response) => {
      const to = new URL(request.url ?? "", "http://x").searchParams.get("to");
      if (to === null) response.setHeader("content-type", "text/plain").end("arrived");
      else response.writeHead(302, { location: to }).end();
    },
    { bearer_token: "t0ken-value" },
  );
  expect(await host.request({ query: { to: "/v1/next" } })).toMatchObject({ text: "arrived" });
  for (const to of [
    "/v2",
    "/",
    "/v1/../admin",
    "/v1/%2e%2e/admin",
    "/v1x",
    other,
    "//evil.test/v1/",
    "file:///etc/passwd",
    "http://169.254.169.254/v1/",
  ])
    await expect(host.request({ query: { to } })).rejects.toMatchObject({
      code: expect.stringMatching(/forbidden|tool_error/),
    });
  expect(host.asked.every(({ url }) => url?.startsWith("/v1/"))).toBe(true);
  await expect(host.request({ query: { to: "" } })).rejects.toThrow("more than 5 redirects");
});

test.each([
  "http://127.0.0.1/",
  "http://10.0.0.1/",
  "http://[::1]/",
  "http://2130706433/",
  "http://169.254.169.254/",
  "http://[::ffff:127.0.0.1]/",
])("%s is rejected as base URL unless the operator allows private addresses", async (base_url) => {
  await using host = await start({});
  expect(await host.configure("http", { base_url })).toMatchObject({
    status: "partial",
    error: expect.stringContaining("not a public address"),
  });
  expect(await host.toolNames()).toEqual([]);
});

test("a host name that resolves to a private address is rejected at the request", async () => {
  await using host = await start({});
  await host.configure("http", { base_url: "http://localhost:1/" });
  await expect(host.call("http__request")).rejects.toMatchObject({ code: "forbidden" });
});

test.each([
  "ftp://example.com",
  "example.com",
  "http://user:pass@example.com",
  "http://example.com/?key=1",
  "http://example.com/#x",
  "http://example.com/a%2fb",
  "",
])("%j is not a valid base URL", async (base_url) => {
  await using host = await start();
  const error = await host.configure("http", { base_url }).catch((cause: unknown) => cause);
  expect(error).toMatchObject({ code: "schema_violation", detail: { issues: [{ path: "config.base_url" }] } });
  // A password in it is neither stored nor repeated.
  expect(JSON.stringify([(error as Error).message, await host.kits.list()])).not.toContain("user:pass");
});

test("an invalid base URL in the operator's config stops the start", async () => {
  const shared = { crm: { toolkit: "http", config: { base_url: "crm.example.com" } } };
  await expect(startToolkits({ builtin: ["http"], shared })).rejects.toThrow("base_url: is not a URL");
});

test("a header in several spellings is sent once, and the bearer token takes precedence", async () => {
  await using host = await startWith((_request, response) => response.end(), {
    headers: { Authorization: "Basic b3RoZXI=", "X-Client": "first" },
    secret_headers: { "x-client": "second" },
    bearer_token: "t0ken-value",
    methods: ["POST"],
  });
  await host.request({ method: "POST", json: { a: 1 }, headers: { "Content-Type": "application/vnd.api+json" } });
  const { rawHeaders = [] } = host.asked[0] ?? {};
  const sent = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1]]] : [],
  );
  expect(sent.filter(([name]) => ["authorization", "x-client", "content-type"].includes(name ?? "")).sort()).toEqual([
    ["authorization", "Bearer t0ken-value"],
    ["content-type", "application/vnd.api+json"],
    ["x-client", "second"],
  ]);
});

test.each([
  { headers: { host: "evil" } },
  { headers: { "Transfer-Encoding": "chunked" } },
  { headers: { "bad name": "x" } },
  { headers: { x: "a\r\nb: c" } },
  { secret_headers: { connection: "x" } },
  { bearer_token: "a b" },
  { methods: [] },
  { methods: ["TRACE"] },
  { timeout_ms: 10_000_000 },
  { typo: 1 },
])("the config %j is rejected", async (config) => {
  await using host = await start();
  await expect(host.configure("http", { base_url: "http://example.com", ...config })).rejects.toMatchObject({
    code: "schema_violation",
  });
});

test("a request cannot set headers that the config sets, or that could bypass it", async () => {
  await using host = await startWith((_request, response) => response.end(), { headers: { "X-Client": "a2e" } });
  for (const headers of [
    { host: "x" },
    { authorization: "x" },
    { "x-client": "me" },
    { cookie: "x" },
    { accept: "a\r\nb: c" },
    { "content-length": "1" },
    { "X-HTTP-Method-Override": "DELETE" },
    { "x-method-override": "DELETE" },
    { "X-Original-URL": "/admin" },
    { "x-rewrite-url": "/admin" },
    { "X-Forwarded-For": "127.0.0.1" },
    { "x-forwarded-host": "evil" },
  ])
    await expect(host.request({ headers })).rejects.toMatchObject({ code: "forbidden" });
  expect(host.asked).toEqual([]);
  await host.request({ headers: { "X-Request-Id": "7" } });
  expect(host.asked[0]?.headers).toMatchObject({ "x-request-id": "7", "x-client": "a2e" });
});

test("an endless body is cut at max_bytes", async () => {
  await using host = await startWith(
    (_request, response) => {
      const more = () => response.writable && response.write("x".repeat(16_384), more);
      response.setHeader("content-type", "text/plain");
      more();
    },
    { max_bytes: 1000 },
  );
  const { data } = await host.client.tools.call({ tool_name: "http__request", arguments: {} });
  expect(data).toMatchObject({ truncated: true, data: { text: "x".repeat(1000) } });
});

test("a request to a server that does not answer times out after timeout_ms", async () => {
  await using host = await startWith(() => {}, { timeout_ms: 200 });
  await expect(host.request({ path: "silent" })).rejects.toMatchObject({ code: "timeout" });
});

test("limits of the operator apply without being stored with the config, so that they can change", async () => {
  await using host = await start({ allow_private: true, timeout_ms: 3_000, max_bytes: 10 });
  const origin = await serve((request, response) => {
    if (request.url !== "/silent") response.end("more than ten bytes");
  });
  const { toolkit } = await host.configure("http", { base_url: origin });
  expect(Object.keys(toolkit.config).sort()).toEqual(["base_url", "headers", "methods"]);
  expect(await host.call("http__request")).toMatchObject({ text: "more than " });
  await expect(host.call("http__request", { path: "silent" })).rejects.toMatchObject({ code: "timeout" });
});

test("a body that is too large is not sent", async () => {
  await using host = await startWith((_request, response) => response.end(), { methods: ["POST"] });
  const text = "ü".repeat(toolkitLimits.httpMaxRequestBytes / 2 + 1);
  for (const content of [{ body: text }, { json: text }])
    await expect(host.request({ method: "POST", ...content })).rejects.toThrow("the body is larger than 1048576 bytes");
  expect(host.asked).toEqual([]);
});
