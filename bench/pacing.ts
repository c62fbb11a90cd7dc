// How long does a quiet session wait for its answers while another peer floods the host?
import { createNodeHttpTransport } from "../src/transports/http/http-node.ts";
import { connectEcho } from "./lib/a2e-client.ts";
import { runClosedLoop } from "./lib/closed-loop.ts";
import type { Benchmark, RunningCase } from "./lib/definition.ts";
import { startServerProcess } from "./lib/server-process.ts";
import type { FloodCommand } from "./servers/flood.ts";

export const benchmark: Benchmark = {
  id: "pacing",
  title: "tool call of a quiet session over HTTP, one in flight, beside a flood of two-byte lines",
  cases: {
    flooded: { title: "beside a session that floods", start: () => startQuiet(true) },
    alone: { title: "alone", start: () => startQuiet(false) },
  },
  bars: [{ id: "pacing.p99", ours: "flooded", peer: "alone", measure: "p99Us" }],
};

async function startQuiet(isFlooded: boolean): Promise<RunningCase> {
  const server = await startServerProcess("a2e-http");
  const flood = isFlooded ? await startServerProcess("flood", [String(server.port)]) : undefined;
  const { client, call } = await connectEcho(createNodeHttpTransport({ url: `http://127.0.0.1:${server.port}` }));
  const setFlooding = (isFlooding: boolean) => flood?.ask({ isFlooding } satisfies FloodCommand);
  return {
    async round(ms) {
      await setFlooding(true);
      const sample = await runClosedLoop(call, { ms, inFlight: 1, pids: [server.pid] });
      await setFlooding(false);
      return sample;
    },
    async close() {
      await client.disconnect();
      await flood?.stop();
      await server.stop();
    },
  };
}
