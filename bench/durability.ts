// What does it cost that every answer survives a crash, and how long does it take to come back from one?
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { envPlugin } from "../src/caps/env/plugin.ts";
import { env } from "../src/caps/env/protocol.ts";
import { memoryPlugin } from "../src/caps/memory/plugin.ts";
import { memory } from "../src/caps/memory/protocol.ts";
import { A2EClient } from "../src/client/client.ts";
import type { Transport } from "../src/protocol/transport.ts";
import { createDirectTransport } from "../src/transports/direct.ts";
import { createNodeHttpTransport } from "../src/transports/http/http-node.ts";
import { connectEcho, type EchoClient } from "./lib/a2e-client.ts";
import { runClosedLoop } from "./lib/closed-loop.ts";
import { createCpuMeter } from "./lib/cpu.ts";
import type { Benchmark, RunningCase, Sample } from "./lib/definition.ts";
import { type ServerProcess, startServerProcess } from "./lib/server-process.ts";
import { startEchoHost } from "./servers/echo-host.ts";

const inFlight = 64;
const sessionCount = 1_000;
/** Sessions that are opened, or come back, at the same time. */
const atOnce = 32;
const agentId = "bench";

export const benchmark: Benchmark = {
  id: "durability",
  title: `HTTP, ${inFlight} in flight, audit on; then ${sessionCount} sessions after a crash`,
  cases: {
    on: { title: "tool call, every answer survives kill -9", start: () => startCalls("durable") },
    off: { title: "tool call, nothing kept", start: () => startCalls("memory") },
    power: { title: "tool call, every answer survives a power cut", start: () => startCalls("power") },
    "agents-off": { title: `tool call of ${inFlight} agents, nothing kept`, start: () => startAgents("memory") },
    "agents-power": {
      title: `tool call of ${inFlight} agents, every answer survives a power cut`,
      start: () => startAgents("power"),
    },
    "step-on": { title: "env/step, every answer survives kill -9", start: () => startSteps("durable") },
    "step-off": { title: "env/step, nothing kept", start: () => startSteps("memory") },
    open: {
      title: "sessions opened, an episode and an entry each",
      isFreshEachRound: true,
      start: () => startSessions(false),
    },
    recover: {
      title: "sessions recovered after kill -9, first answer of each",
      isFreshEachRound: true,
      start: () => startSessions(true),
    },
    "recover-host": {
      title: "the same by agents in the process of the host, which has started: what the host itself takes",
      isFreshEachRound: true,
      start: startRecoveringHost,
    },
  },
  bars: [
    // The bar is on the default of a host. Waiting for the disk before each answer is reported: its cost is the disk's.
    { id: "durability", ours: "power", peer: "off", measure: "perSecond" },
    {
      id: "durability.kill",
      ours: "on",
      peer: "off",
      measure: "perSecond",
      atLeast: 0.7,
      claim: "calls per second when every answer survives kill -9, nothing persisted = 1",
    },
    { id: "durability.agents", ours: "agents-power", peer: "agents-off", measure: "perSecond" },
    { id: "durability.step", ours: "step-on", peer: "step-off", measure: "perSecond" },
    { id: "durability.recovery", ours: "recover", peer: "open", measure: "totalMs" },
    { id: "durability.recovery_host", ours: "recover-host", peer: "recover", measure: "totalMs" },
  ],
};

async function startCalls(storage: "durable" | "power" | "memory"): Promise<RunningCase> {
  const server = await startServerProcess("stateful-http", [storage]);
  const { client, call } = await connectEcho(transportTo(server));
  return closedLoop(server, client, call);
}

/** Each with a session, connections and one call of its own: as many requests are in flight as calls. */
async function startAgents(storage: "power" | "memory"): Promise<RunningCase> {
  const server = await startServerProcess("stateful-http", [storage]);
  const agents = await Promise.all(Array.from({ length: inFlight }, () => connectEcho(transportTo(server))));
  const idle = [...agents];
  const call = async () => {
    const agent = idle.pop() as EchoClient;
    await agent.call();
    idle.push(agent);
  };
  return {
    round: (ms) => runClosedLoop(call, { ms, inFlight, pids: [server.pid] }),
    async close() {
      await Promise.all(agents.map(({ client }) => client.disconnect()));
      await server.stop();
    },
  };
}

async function startSteps(storage: "durable" | "memory"): Promise<RunningCase> {
  const server = await startServerProcess("stateful-http", [storage]);
  const client = await A2EClient.connect({ transport: transportTo(server), capabilities: [env.name] });
  const api = client.use(env);
  const { obs } = await api.reset({ env_name: "counter_env" });
  return closedLoop(server, client, () => api.step({ episode_id: obs.episode_id, action: { type: "dec" } }));
}

function closedLoop(server: ServerProcess, client: A2EClient, call: () => Promise<unknown>): RunningCase {
  return {
    round: (ms) => runClosedLoop(call, { ms, inFlight, pids: [server.pid] }),
    async close() {
      await client.disconnect();
      await server.stop();
    },
  };
}

/** Opens all sessions; and where the question is how they come back, lets the host crash and asks each of them again. */
async function startSessions(isRecovery: boolean): Promise<RunningCase> {
  const folder = await mkdtemp(join(tmpdir(), "a2e-bench-"));
  const start = () => startServerProcess("stateful-http", ["durable", folder]);
  let server = await start();
  return {
    async round() {
      const ids: string[] = [];
      const opened = await measureAll([server.pid], async () => void ids.push(await openSession(server)));
      if (!isRecovery) return opened;
      await server.crash();
      const startedAt = performance.now();
      server = await start();
      // The processor time of a new process begins at 0, and the time it took to start belongs to the recovery.
      const work = async (index: number) => {
        const transport = transportTo(server, ids[index] as string);
        await revisit(transport);
        await transport.close();
      };
      return measureAll([server.pid], work, startedAt);
    },
    async close() {
      await server.stop();
      await rm(folder, { recursive: true });
    },
  };
}

/**
 * Without the start of a process and the thousands of HTTP requests and connections of the agents, which are most of
 * `recover`: opens the database, recovers each session and answers it.
 */
async function startRecoveringHost(): Promise<RunningCase> {
  const folder = await mkdtemp(join(tmpdir(), "a2e-bench-"));
  const server = await startServerProcess("stateful-http", ["durable", folder]);
  const ids: string[] = [];
  await measureAll([server.pid], async () => void ids.push(await openSession(server)));
  await server.crash();
  let closeHost = async () => 0;
  return {
    async round() {
      const startedAt = performance.now();
      const plugins = [envPlugin(), memoryPlugin()];
      const { host, close } = await startEchoHost({ plugins, storage: "durable", folder });
      closeHost = close;
      const find = async (id: string) => {
        const session = await host.sessions.find(id);
        if (session === undefined) throw new Error("a session did not come back");
        return session;
      };
      // The transports stay open: closing one would end its session.
      return measureAll([], (index) => revisit(createDirectTransport(() => find(ids[index] as string))), startedAt);
    },
    async close() {
      await closeHost();
      await rm(folder, { recursive: true });
    },
  };
}

async function measureAll(
  pids: readonly number[],
  work: (index: number) => Promise<void>,
  startedAt = performance.now(),
): Promise<Sample> {
  const cpu = createCpuMeter(pids);
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < sessionCount; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  const totalMs = performance.now() - startedAt;
  return { perSecond: (sessionCount / totalMs) * 1000, cpuUs: cpu.elapsedUs() / sessionCount, totalMs };
}

async function openSession(server: ServerProcess): Promise<string> {
  const transport = transportTo(server);
  const client = await A2EClient.connect({ transport, agentId, capabilities: [env.name, memory.name] });
  const { obs } = await client.use(env).reset({ env_name: "counter_env" });
  await client.use(env).step({ episode_id: obs.episode_id, action: { type: "dec" } });
  await client.use(memory).store({ entries: [{ key: "seen", content: obs.state, tier: "working" }] });
  // Without a goodbye: the session is to stay.
  await transport.close();
  return client.sessionId;
}

/** Joins a session that the host must know from its journal, and finds there what was left. */
async function revisit(transport: Transport): Promise<void> {
  const client = await A2EClient.connect({ transport, agentId, capabilities: [env.name, memory.name] });
  const { obs } = await client.use(env).observe({});
  if (obs.step_num !== 1) throw new Error(`an episode came back after ${obs.step_num} steps instead of 1`);
}

function transportTo({ port }: ServerProcess, sessionId?: string) {
  return createNodeHttpTransport({
    url: `http://127.0.0.1:${port}`,
    ...(sessionId === undefined ? {} : { sessionId }),
  });
}
