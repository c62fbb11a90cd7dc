import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../caps/tools/definition/define-tool.ts";
import { toolsPlugin } from "../caps/tools/plugin.ts";
import { A2EConnectionError } from "../client/errors.ts";
import { keepSessions } from "../durability/keep-sessions.ts";
import { A2EHost } from "../host/host.ts";
import { plugin } from "../plugin/plugin.ts";
import { call, capability } from "../protocol/table/capability.ts";
import { startServer } from "../server/http-server.ts";
import { createMemorySnapshotStore } from "../stores/snapshots/memory-snapshot-store.ts";
import { connect as connectAnywhere } from "./connect.ts";
import { connect, connectEmbedded } from "./connect-node.ts";

const echo = defineTool({
  name: "echo",
  description: "Repeats.",
  input: z.object({ text: z.string() }),
  run: ({ text }) => text,
});

const clockTable = capability("wall_clock", {
  doc: "Returns the time.",
  calls: {
    read: call("wall_clock/read/req", "wall_clock/read/resp", {
      about: { access: "read" },
      doc: "Reads the clock.",
      request: z.object({}),
      result: z.object({ hour: z.int() }),
      example: { request: {}, result: { hour: 7 } },
    }),
  },
});

const clockPlugin = plugin(clockTable, { session: () => ({ handlers: { read: () => ({ hour: 7 }) } }) });

function startEchoHost(authToken = "") {
  const plugins = [toolsPlugin({ builtin: false, tools: [echo] }), clockPlugin];
  return A2EHost.start({ plugins, keeping: keepSessions, snapshots: createMemorySnapshotStore(), authToken });
}

test.each([
  ["http in Node", connect, "http"],
  ["WebSocket in Node", connect, "ws"],
  ["http anywhere", connectAnywhere, "http"],
] as const)("an address is enough to call a tool: %s", async (_, open, scheme) => {
  await using host = await startEchoHost("secret");
  const server = await startServer(host, { port: 0 });
  const client = await open(`${scheme}://127.0.0.1:${server.port}`, { authToken: "secret" });

  const { data } = await client.tools.call({ tool_name: "echo", arguments: { text: "hello" } });

  expect(data.data).toBe("hello");
  await client.disconnect();
  await server.close();
});

test("a table that is not built in is asked for and becomes an API of the client", async () => {
  await using host = await startEchoHost();
  await using client = await connectEmbedded(host, { tables: { clock: clockTable } });

  expect(await client.clock.read()).toEqual({ hour: 7 });
});

test("a wrong token ends in handshake_failed and leaves no session", async () => {
  await using host = await startEchoHost("secret");

  const error = await connectEmbedded(host, { authToken: "guess" }).catch((cause: unknown) => cause);

  expect(error).toBeInstanceOf(A2EConnectionError);
  expect(error).toMatchObject({ code: "handshake_failed", message: expect.stringContaining("auth_failed") });
  expect(host.sessions.size).toBe(0);
});

test.each([
  ["ftp://127.0.0.1", "not an address of a host"],
  ["127.0.0.1:8765", "not an address of a host"],
  ["", "not an address of a host"],
  ["stdio:  ", "needs a command"],
])("%j is refused with advice", (target, message) => {
  expect(() => connect(target)).toThrow(message);
});

test("a command that does not exist is named in the error", async () => {
  await expect(connect("stdio:no-such-a2e-host --quiet")).rejects.toThrow("no-such-a2e-host");
  await expect(connect({ command: fileURLToPath(new URL("nowhere", import.meta.url)) })).rejects.toThrow("nowhere");
});

test("an address with a password is refused, and not repeated", async () => {
  const attempt = async () => connect("https://me:s3cret@example.com");
  await expect(attempt()).rejects.toThrow("use authToken");
  await expect(attempt()).rejects.not.toThrow("s3cret");
});
