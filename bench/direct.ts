// How much does a call cost where nothing but the library is in the way?
import { createDirectTransport } from "../src/transports/direct.ts";
import { connectEcho } from "./lib/a2e-client.ts";
import { runClosedLoop } from "./lib/closed-loop.ts";
import type { Benchmark, RunningCase } from "./lib/definition.ts";
import { connectMcpInMemory } from "./lib/mcp-client.ts";
import { assertEcho, text } from "./lib/workload.ts";
import { startEchoHost } from "./servers/echo-host.ts";

/** The audit log writes when the event loop gets its turn, so calls leave it one; both sides alike. */
const loop = { inFlight: 1, sampleEvery: 16, yieldEvery: 1024 };

export const benchmark: Benchmark = {
  id: "direct",
  title: "validated tool call in process, one in flight, audit on",
  cases: {
    a2e: { title: "a2e, direct transport", start: () => startDirect("plain") },
    "a2e-async": { title: "a2e, tool is an async function", start: () => startDirect("async") },
    mcp: { title: "MCP SDK, in memory", start: startMcp },
  },
  bars: [
    {
      id: "direct",
      ours: "a2e",
      peer: "mcp",
      measure: "perSecond",
      atLeast: 10,
      claim: "tool calls per second in one process, MCP SDK in memory = 1",
    },
  ],
};

async function startDirect(tool: "plain" | "async"): Promise<RunningCase> {
  return {
    /** A host per round: its audit log is counted afterwards, and must tell of every call. */
    async round(ms) {
      const { host, close } = await startEchoHost({ tool });
      const { client, call } = await connectEcho(createDirectTransport(() => host.sessions.create()));
      const sample = await runClosedLoop(call, { ms, ...loop });
      await client.disconnect();
      const audited = await close();
      const calls = sample.calls + 1;
      if (audited !== calls) throw new Error(`${calls} calls were made and ${audited} are in the audit log`);
      return sample;
    },
    async close() {},
  };
}

async function startMcp(): Promise<RunningCase> {
  const { client, close } = await connectMcpInMemory();
  await client.listTools();
  const call = () => client.callTool({ name: "echo", arguments: { text } });
  assertEcho(((await call()) as { content: { text: string }[] }).content[0]?.text);
  return { round: (ms) => runClosedLoop(call, { ms, ...loop }), close };
}
