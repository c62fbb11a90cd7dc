import { expect, test } from "vitest";
import { parseMcpOptions } from "./options.ts";
import { createRedaction } from "./server-config.ts";

const configOf = (settings: object) => parseMcpOptions({ servers: { s: settings }, base_dir: "/etc/a2e" }).servers[0];

test("a program is spelled as a list, or as command and args, and runs where the config is", () => {
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

test("nothing is allowed that nobody wrote: no questions, no registration, nothing shown of stderr", () => {
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
])("options that cannot be right are refused by name: %j", (options, name) => {
  expect(() => parseMcpOptions(options)).toThrow(name);
});

test("what proves who the host is, whole or in part, is blotted out", () => {
  const config = configOf({
    url: "https://a.example",
    headers: { authorization: "Bearer abc.def.ghi", "x-on": "true" },
  });
  if (config === undefined) throw new Error("no config");
  const redact = createRedaction(config);

  expect(redact("sent Bearer abc.def.ghi, got 401 for abc.def.ghi: true")).toBe("sent ***, got 401 for ***: true");
});
