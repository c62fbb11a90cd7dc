// How fast does news reach a thousand readers?

import { type CountingReader, openReader } from "./lib/counting-reader.ts";
import { createCpuMeter } from "./lib/cpu.ts";
import type { Benchmark, RunningCase } from "./lib/definition.ts";
import { type ServerProcess, startServerProcess } from "./lib/server-process.ts";
import type { FeedCommand } from "./servers/feed.ts";

const readerCount = 1_000;
/** With its envelope a push comes to about 300 bytes on either side. */
const command: FeedCommand = { pushes: 40, textLength: 200 };

export const benchmark: Benchmark = {
  id: "fanout",
  title: `${command.pushes} pushes to each of ${readerCount} sessions, one SSE reader each`,
  cases: {
    a2e: { title: "a2e", start: () => startFanout("a2e-http", openSession) },
    mcp: { title: "MCP SDK", start: () => startFanout("mcp-http", openMcpSession) },
  },
  bars: [
    {
      id: "fanout",
      ours: "a2e",
      peer: "mcp",
      measure: "perSecond",
      atLeast: 5,
      claim: "pushes delivered per second to 1,000 readers, MCP SDK = 1",
    },
  ],
};

/** Creates a session and returns the request that opens its stream. */
type OpenSession = (origin: string) => Promise<{ path: string; headers: Record<string, string> }>;

async function startFanout(serverName: string, openSession: OpenSession): Promise<RunningCase> {
  const server = await startServerProcess(serverName);
  const origin = `http://127.0.0.1:${server.port}`;
  const readers: CountingReader[] = [];
  while (readers.length < readerCount) {
    const { path, headers } = await openSession(origin);
    readers.push(await openReader(server.port, path, headers));
  }
  return {
    round: () => measureFanout(server, readers),
    async close() {
      for (const reader of readers) reader.close();
      await server.stop();
    },
  };
}

async function measureFanout(server: ServerProcess, readers: readonly CountingReader[]) {
  const cpu = createCpuMeter([server.pid]);
  const startedAt = performance.now();
  const arrivals = readers.map((reader) => reader.waitFor(command.pushes));
  await server.ask(command);
  await Promise.all(arrivals);
  const elapsedMs = performance.now() - startedAt;
  const arrived = readers.length * command.pushes;
  return { perSecond: (arrived / elapsedMs) * 1000, cpuUs: cpu.elapsedUs() / arrived };
}

const openSession: OpenSession = async (origin) => {
  const created = await fetch(`${origin}/session`, { method: "POST" });
  const { session_id } = (await created.json()) as { session_id: string };
  const headers = { "x-session-id": session_id };
  const handshake = { type: "handshake/req", id: "1", version: "1.0", agent_id: "reader", agent_caps: ["feed"] };
  await (await fetch(`${origin}/send`, { method: "POST", headers, body: JSON.stringify(handshake) })).text();
  return { path: "/stream", headers };
};

const mcpVersion = "2025-06-18";

const openMcpSession: OpenSession = async (origin) => {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const clientInfo = { name: "reader", version: "1.0.0" };
  const params = { protocolVersion: mcpVersion, capabilities: {}, clientInfo };
  const initialize = { jsonrpc: "2.0", id: 0, method: "initialize", params };
  const created = await fetch(`${origin}/mcp`, { method: "POST", headers, body: JSON.stringify(initialize) });
  await created.text();
  const session = { "mcp-session-id": created.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": mcpVersion };
  const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
  const body = JSON.stringify(initialized);
  await (await fetch(`${origin}/mcp`, { method: "POST", headers: { ...headers, ...session }, body })).text();
  return { path: "/mcp", headers: session };
};
