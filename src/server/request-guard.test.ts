import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRequestGuard, type GuardedRequest } from "./request-guard.ts";

const nothing = { boundTo: "127.0.0.1", scheme: "http", corsOrigins: [], allowedHosts: [] } as const;
const host = "localhost:8765";

function request(headers: Record<string, string>): GuardedRequest {
  return { method: "GET", url: "/sessions", headers };
}

describe("an Origin is the host's own", () => {
  test.each([
    ["http", "localhost:8765", "http://localhost:8765"],
    ["http", "LocalHost:8765", "http://localhost:8765"],
    ["http", "127.0.0.1:8765", "http://127.0.0.1:8765"],
    ["http", "[::1]:8765", "http://[::1]:8765"],
    ["http", "localhost", "http://localhost"],
    ["http", "localhost:80", "http://localhost"],
    ["https", "localhost:443", "https://localhost"],
  ] as const)("over %s, if the request names the host %s and the page is of %s", (scheme, name, origin) => {
    const guard = createRequestGuard({ ...nothing, scheme });
    expect(guard.refuse(request({ host: name, origin }))).toBeUndefined();
  });
});

describe("an Origin is foreign", () => {
  test.each([
    ["another port", "http://localhost:3000"],
    ["the default port", "http://localhost"],
    ["another name of this machine", "http://127.0.0.1:8765"],
    ["another loopback address", "http://127.0.0.2:8765"],
    ["another scheme", "https://localhost:8765"],
    ["another spelling than browsers use", "http://localhost:8765/"],
    ["another site", "https://evil.example"],
    ["a name that begins with that of the host", "http://localhost:8765.evil.example"],
    ["a page without an origin", "null"],
    ["an empty header", ""],
  ])("if it has %s: %s", (_what, origin) => {
    expect(createRequestGuard(nothing).refuse(request({ host, origin }))).toContain("server.cors.origins");
    const reachable = createRequestGuard({ ...nothing, boundTo: "0.0.0.0" });
    expect(reachable.refuse(request({ host, origin }))).toContain("server.cors.origins");
  });
});

test("the refusal names the origin to list", () => {
  const refusal = createRequestGuard(nothing).refuse(request({ host, origin: "http://localhost:3000" }));
  expect(refusal).toBe(
    'pages of http://localhost:3000 may not use this host: list "http://localhost:3000" in server.cors.origins',
  );
});

test("a listed origin is accepted with its exact port, whatever site the browser calls it", () => {
  const guard = createRequestGuard({ ...nothing, corsOrigins: ["http://localhost:3000"] });
  const from = (origin: string) => guard.refuse(request({ host, origin, "sec-fetch-site": "same-site" }));
  expect(from("http://localhost:3000")).toBeUndefined();
  expect(from("http://localhost:3001")).toBeDefined();
});

test("the public address of the host is an origin of its own, behind a proxy that ends TLS", () => {
  const guard = createRequestGuard({
    ...nothing,
    allowedHosts: ["agents.example"],
    publicUrl: "https://agents.example/a2e/",
  });
  const from = (origin: string) => guard.refuse(request({ host: "agents.example", origin }));
  expect(from("https://agents.example")).toBeUndefined();
  expect(from("https://agents.example:8443")).toBeDefined();
});

test.each([
  ["cross-site", true],
  ["same-site", true],
  ["same-origin", false],
  ["none", false],
])("a request without an Origin and with Sec-Fetch-Site %s: refused is %s", (site, isRefused) => {
  const refusal = createRequestGuard(nothing).refuse(request({ host, "sec-fetch-site": site }));
  expect(refusal !== undefined).toBe(isRefused);
});

test('with "*" in the list every page is accepted, but still no rebound name', () => {
  const guard = createRequestGuard({ ...nothing, corsOrigins: ["*"] });
  const headers = { origin: "https://any.example", "sec-fetch-site": "cross-site" };
  expect(guard.refuse(request({ ...headers, host }))).toBeUndefined();
  expect(guard.refuse(request({ ...headers, host: "any.example" }))).toContain("server.allowed_hosts");
});

test("a good Host before it does not make a rebound one acceptable", () => {
  const guard = createRequestGuard(nothing);
  for (const [name, isRefused] of [
    [host, false],
    ["evil.example:8765", true],
    [host, false],
    ["evil.example:8765", true],
  ] as const)
    expect(guard.refuse(request({ host: name })) !== undefined, name).toBe(isRefused);
  expect(guard.refuse(request({}))).toContain("server.allowed_hosts");
});

test("no text in the headers makes the guard throw, and no origin but the host's own passes", () => {
  const text = fc.oneof(
    fc.string(),
    fc.webUrl(),
    fc.constantFrom("http://localhost", "http://[", "//", ":80", "a:b@c"),
  );
  const guard = createRequestGuard({ ...nothing, boundTo: "0.0.0.0" });
  fc.assert(
    fc.property(text, text, fc.string(), (name, origin, site) => {
      const refusal = guard.refuse(request({ host: name, origin, "sec-fetch-site": site }));
      if (refusal === undefined) expect(origin).toBe(new URL(`http://${name}`).origin);
    }),
  );
});
