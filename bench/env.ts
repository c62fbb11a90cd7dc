// What does a step of an environment cost, alone and in a batch?
import { envPlugin } from "../src/caps/env/plugin.ts";
import { env } from "../src/caps/env/protocol.ts";
import { A2EClient } from "../src/client/client.ts";
import { createDirectTransport } from "../src/transports/direct.ts";
import { type LoopSample, runClosedLoop } from "./lib/closed-loop.ts";
import type { Benchmark, RunningCase } from "./lib/definition.ts";
import { connectMcpInMemory } from "./lib/mcp-client.ts";
import { startAuditedHost } from "./servers/audited-host.ts";
import { createMcpCounter } from "./servers/mcp-counter.ts";

/** The audit log writes when the event loop gets its turn, so steps leave it one; all cases alike. */
const loop = { inFlight: 1, sampleEvery: 16, yieldEvery: 256 };
const batchSize = 64;

/** Back and forth, so that the counter never gets to its target. */
const actionAt = (count: number) => ({ type: count % 2 === 0 ? ("dec" as const) : ("inc" as const) });

export const benchmark: Benchmark = {
  id: "env",
  title: "steps of a counter in process, actions validated, audit on",
  cases: {
    step: { title: "a2e, env/step", start: startSteps },
    batch: { title: `a2e, env/batch_step of ${batchSize} episodes`, start: startBatches },
    mcp: { title: "MCP SDK, in memory, a tool that steps", start: startMcp },
  },
  bars: [
    {
      id: "env.step",
      ours: "step",
      peer: "mcp",
      measure: "perSecond",
      atLeast: 10,
      claim: "environment steps per second, an MCP tool that steps the same environment = 1",
    },
    {
      id: "env.batch",
      ours: "batch",
      peer: "mcp",
      measure: "perSecond",
      atLeast: 30,
      claim: "the same in batches of 64",
    },
  ],
};

async function startSteps(): Promise<RunningCase> {
  return {
    round: (ms) => inEpisodes(1, "env/step/req", (step) => runClosedLoop(step, { ms, ...loop })),
    async close() {},
  };
}

async function startBatches(): Promise<RunningCase> {
  return {
    round: (ms) =>
      inEpisodes(batchSize, "env/batch_step/req", (step) => runClosedLoop(step, { ms, inFlight: 1, yieldEvery: 4 })),
    async close() {},
  };
}

/** A host per round: its audit log is counted afterwards, and its episodes must have gone as many steps as were asked for. */
async function inEpisodes(
  count: number,
  type: string,
  measure: (step: () => Promise<unknown>) => Promise<LoopSample>,
): Promise<LoopSample> {
  const { host, close } = await startAuditedHost({ plugins: [envPlugin({ builtin: ["counter_env"] })] });
  const transport = createDirectTransport(() => host.sessions.create());
  const client = await A2EClient.connect({ transport, capabilities: [env.name] });
  const api = client.use(env);
  const episode_ids: string[] = [];
  while (episode_ids.length < count) episode_ids.push((await api.reset({ env_name: "counter_env" })).obs.episode_id);
  const [episode_id = ""] = episode_ids;
  let calls = 0;

  const sample = await measure(() => {
    calls += 1;
    const action = actionAt(calls);
    if (count === 1) return api.step({ episode_id, action });
    return api.batchStep({ episode_ids, actions: episode_ids.map(() => action) });
  });

  const { obs } = await api.observe({ episode_id });
  await client.disconnect();
  const audited = await close(type);
  if (obs.step_num !== calls) throw new Error(`${calls} steps were asked for and ${obs.step_num} were taken`);
  if (audited !== calls) throw new Error(`${calls} calls were made and ${audited} are in the audit log`);
  return { ...sample, perSecond: sample.perSecond * count, cpuUs: sample.cpuUs / count };
}

async function startMcp(): Promise<RunningCase> {
  const { client, close } = await connectMcpInMemory(createMcpCounter());
  await client.listTools();
  let calls = 0;
  const step = async () => {
    calls += 1;
    const { content } = (await client.callTool({ name: "step", arguments: actionAt(calls) })) as {
      content: { text: string }[];
    };
    return JSON.parse(content[0]?.text ?? "") as { step_num: number };
  };
  return {
    async round(ms) {
      const sample = await runClosedLoop(step, { ms, ...loop });
      const { step_num } = await step();
      if (step_num !== calls) throw new Error(`${calls} steps were asked for and ${step_num} were taken`);
      return sample;
    },
    close,
  };
}
