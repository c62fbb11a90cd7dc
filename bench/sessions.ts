// What does a session cost, in time and in memory?
import { tools } from "../src/caps/tools/protocol.ts";
import { A2EClient } from "../src/client/client.ts";
import { createDirectTransport } from "../src/transports/direct.ts";
import { createCpuMeter } from "./lib/cpu.ts";
import type { BenchCase, Benchmark, RunningCase } from "./lib/definition.ts";
import { heapInUse } from "./lib/heap.ts";
import { connectMcpInMemory } from "./lib/mcp-client.ts";
import { startEchoHost } from "./servers/echo-host.ts";

const sessionCount = 1_000;
/** Made first and kept: what all sessions share is not the price of one. */
const warmUpCount = 50;

export const benchmark: Benchmark = {
  id: "sessions",
  title: `${sessionCount} sessions with their clients in one process, hands shaken`,
  cases: {
    a2e: { title: "a2e, direct transport", isFreshEachRound: true, start: startOurs },
    mcp: { title: "MCP SDK, in memory", isFreshEachRound: true, start: startMcp },
  } satisfies Record<string, BenchCase>,
  bars: [
    {
      id: "sessions.time",
      ours: "a2e",
      peer: "mcp",
      measure: "perSecond",
      atLeast: 10,
      claim: "sessions opened per second, MCP SDK = 1",
    },
    {
      id: "sessions.heap",
      ours: "a2e",
      peer: "mcp",
      measure: "heapKb",
      atMost: 0.25,
      claim: "memory per session, MCP SDK = 1",
    },
  ],
};

async function startOurs(): Promise<RunningCase> {
  const { host, close } = await startEchoHost();
  const open = () =>
    A2EClient.connect({
      transport: createDirectTransport(() => host.sessions.create()),
      capabilities: [tools.name],
    });
  return { round: () => measureSessions(open), close: async () => void (await close()) };
}

async function startMcp(): Promise<RunningCase> {
  return { round: () => measureSessions(() => connectMcpInMemory()), async close() {} };
}

async function measureSessions(open: () => Promise<unknown>) {
  const kept: unknown[] = [];
  for (let count = 0; count < warmUpCount; count++) kept.push(await open());
  const heapBefore = await heapInUse();
  const cpu = createCpuMeter([]);
  const startedAt = performance.now();
  for (let count = 0; count < sessionCount; count++) kept.push(await open());
  const elapsedMs = performance.now() - startedAt;
  const cpuUs = cpu.elapsedUs() / sessionCount;
  const heapKb = ((await heapInUse()) - heapBefore) / 1024 / sessionCount;
  if (kept.length !== sessionCount + warmUpCount) throw new Error("sessions were lost");
  return { perSecond: (sessionCount / elapsedMs) * 1000, cpuUs, heapKb };
}
