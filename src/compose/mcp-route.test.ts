import { expect, test, vi } from "vitest";
import { toHostConfig } from "../config/parsing.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { startConfiguredServer } from "./configured-server.ts";

const nextFolder = useTemporaryFolder();
const loaded = vi.hoisted(() => ({ count: 0, isBroken: false }));
vi.mock("../federation/mcp/http/http-door.ts", async (original) => {
  loaded.count++;
  const { createMcpDoor } = await original<typeof import("../federation/mcp/http/http-door.ts")>();
  return {
    createMcpDoor: (...args: Parameters<typeof createMcpDoor>) => {
      if (loaded.isBroken) throw new Error("broken");
      return createMcpDoor(...args);
    },
  };
});

test("a configured host serves MCP at /mcp, and loads the MCP code with the first request", async () => {
  const config = toHostConfig({ server: { port: 0 } }, { baseDir: nextFolder(), env: {} });
  await using server = await startConfiguredServer(config);
  await fetch(`${server.url}/health`);
  expect(loaded.count).toBe(0);

  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } };
  const responses = await Promise.all(
    [1, 2].map((id) =>
      fetch(`${server.url}/mcp`, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: JSON.stringify({ jsonrpc: "2.0", id, method: "initialize", params }),
      }),
    ),
  );

  expect(responses.map(({ status }) => status)).toEqual([200, 200]);
  expect(await responses[0]?.text()).toContain('"serverInfo":{"name":"a2e"');
  await responses[1]?.text();
  expect(loaded.count).toBe(1);
});

test("MCP code that fails to load is tried again, and does not keep a host from closing", async () => {
  const config = toHostConfig({ server: { port: 0 } }, { baseDir: nextFolder(), env: {} });
  const server = await startConfiguredServer(config);
  loaded.isBroken = true;
  expect((await fetch(`${server.url}/mcp`, { method: "POST" })).status).toBe(503);
  loaded.isBroken = false;
  expect((await fetch(`${server.url}/mcp`, { method: "POST" })).status).not.toBe(503);
  loaded.isBroken = true;
  await server.close(0);
});
