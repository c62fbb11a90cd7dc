// What does the bridge cost? A tool of an MCP server, called through a host and called with the SDK's own client.
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { mcpPlugin } from "../src/caps/mcp/plugin.ts";
import { toolsPlugin } from "../src/caps/tools/plugin.ts";
import { tools } from "../src/caps/tools/protocol.ts";
import { A2EClient } from "../src/client/client.ts";
import { createDirectTransport } from "../src/transports/direct.ts";
import { runClosedLoop } from "./lib/closed-loop.ts";
import { childPids } from "./lib/cpu.ts";
import type { Benchmark, RunningCase } from "./lib/definition.ts";
import { assertEcho, text } from "./lib/workload.ts";
import { startAuditedHost } from "./servers/audited-host.ts";

export const benchmark: Benchmark = {
  id: "mcp",
  title: "tool of an MCP server over stdio, through the bridge and without it, audit on",
  cases: {
    "bridge-1": { title: "through the bridge, one in flight", isPinned: true, start: () => startBridge(1) },
    "sdk-1": { title: "MCP SDK client, one in flight", isPinned: true, start: () => startSdk(1) },
    "bridge-64": { title: "through the bridge, 64 in flight", isPinned: true, start: () => startBridge(64) },
    "sdk-64": { title: "MCP SDK client, 64 in flight", isPinned: true, start: () => startSdk(64) },
  },
  bars: [
    {
      id: "mcp.one",
      ours: "bridge-1",
      peer: "sdk-1",
      measure: "p50Us",
      atMost: 1.25,
      claim: "time of a tool call through the MCP bridge, the MCP SDK called directly = 1",
    },
    { id: "mcp.64", ours: "bridge-64", peer: "sdk-64", measure: "p50Us", atMost: 1.25 },
  ],
};

const server = {
  command: process.execPath,
  args: [...process.execArgv, fileURLToPath(new URL("./servers/mcp-stdio.js", import.meta.url))],
};

async function startBridge(inFlight: number): Promise<RunningCase> {
  const plugins = [toolsPlugin({ builtin: false }), mcpPlugin({ servers: { peer: { ...server, start: "eager" } } })];
  const { host, close } = await startAuditedHost({ plugins });
  const transport = createDirectTransport(() => host.sessions.create());
  const client = await A2EClient.connect({ transport, capabilities: ["tools", "mcp"] });
  const api = client.use(tools);
  while ((await api.list({})).tools.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const call = () => api.call({ tool_name: "peer__echo", arguments: { text } });
  const { data } = await call();
  assertEcho((data.data as { content?: { text?: unknown }[] } | null)?.content?.[0]?.text);
  return {
    round: roundOf(call, inFlight),
    async close() {
      await client.disconnect();
      await close("tool/call/req");
    },
  };
}

async function startSdk(inFlight: number): Promise<RunningCase> {
  const client = new Client({ name: "bench", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new StdioClientTransport(server));
  // The client checks results against the schemas that it learns from this.
  await client.listTools();
  const call = () => client.callTool({ name: "echo", arguments: { text } });
  assertEcho(((await call()).content[0] as { text?: unknown } | undefined)?.text);
  return { round: roundOf(call, inFlight), close: () => client.close() };
}

function roundOf(call: () => Promise<unknown>, inFlight: number): RunningCase["round"] {
  const pids = childPids();
  return (ms) => runClosedLoop(call, { ms, inFlight, pids });
}
