import { expect, test } from "vitest";
import { parseMcpOptions } from "./options.ts";

const configOf = (settings: object) => parseMcpOptions({ servers: { s: settings }, base_dir: "/etc/a2e" }).servers[0];

test("a program is spelled as a list, or as command and args, and runs in the folder of the config", () => {
  const expected = { transport: "stdio", cmd: ["node", "server.mjs"], cwd: "/etc/a2e" };

  expect(configOf({ cmd: ["node", "server.mjs"] })?.endpoint).toMatchObject(expected);
  expect(configOf({ command: "node", args: ["server.mjs"] })?.endpoint).toMatchObject(expected);
  expect(configOf({ cmd: ["node"], cwd: "sub" })?.endpoint).toMatchObject({ cwd: "/etc/a2e/sub" });
});

test.each([
  [{ url: "https://a.example/mcp" }, "http"],
  [{ url: "wss://a.example/mcp" }, "ws"],
  [{ url: "https://a.example/sse", transport: "sse" }, "sse"],
  [{ url: "https://a.example/mcp", transport: "streamable-http" }, "http"],
  [{ url: "wss://a.example", transport: "websocket" }, "ws"],
])("the transport of %j is %s", (settings, transport) => {
  expect(configOf(settings)?.endpoint.transport).toBe(transport);
});

test("by default nothing is allowed: no requests to agents, no registration, no stderr shown", () => {
  const { servers, registration } = parseMcpOptions({ servers: { s: { cmd: ["x"] } } });

  expect(servers[0]).toMatchObject({
    permissions: { sampling: false, elicitation: false, roots: false },
    showsStderr: false,
  });
  expect(registration).toMatchObject({ commands: [], urls: [], env: [] });
});

test.each([
  [{ servers: { "a b": { cmd: ["x"] } } }, "servers"],
  [{ servers: { a__b: { cmd: ["x"] } } }, "servers"],
  [{ servers: { a: {} } }, "servers.a"],
  [{ servers: { a: { url: "file:///etc", transport: "http" } } }, "servers.a"],
  [{ servers: { a: { cmd: ["x"], tools_allow_list: [] } } }, "tools_allow_list"],
  [{ severs: {} }, "severs"],
])("invalid options are rejected by name: %j", (options, name) => {
  expect(() => parseMcpOptions(options)).toThrow(name);
});

test.each([
  [{ ping_interval_ms: 2 ** 31 }, "ping_interval_ms"],
  [{ connect_timeout_ms: 2 ** 31 }, "connect_timeout_ms"],
  [{ servers: { s: { cmd: ["x"], timeout: 3_000_000 } } }, "timeout"],
])("a time longer than a timer can wait is rejected: %j", (options, name) => {
  expect(() => parseMcpOptions(options)).toThrow(name);
});

test("the path of an ID token is relative to the folder of the config", () => {
  const identity_provider = { issuer: "https://id.example", client_id: "a", id_token_file: "secrets/token" };
  const config = configOf({ url: "https://a.example/mcp", oauth: { grant: "identity_assertion", identity_provider } });

  expect(config?.endpoint).toMatchObject({
    oauth: { identity_provider: { id_token_file: "/etc/a2e/secrets/token" } },
  });
});
