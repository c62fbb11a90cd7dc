// What does a copy of a whole session cost, in time and in memory?
import { env } from "../src/caps/env/protocol.ts";
import { memory } from "../src/caps/memory/protocol.ts";
import { core } from "../src/protocol/core.ts";
import type { Benchmark, RunningCase, Sample } from "./lib/definition.ts";
import { entryCount, episodeCount, type FullSession, openFullSession } from "./lib/full-session.ts";
import { heapInUse } from "./lib/heap.ts";

/** Kept at once while their memory is measured. */
const keptForks = 100;
const keptCopies = 4;

export const benchmark: Benchmark = {
  id: "fork",
  title: `a session with ${entryCount} entries in memory and ${episodeCount} episodes`,
  cases: {
    fork: { title: "a2e, session/fork after a step and a new entry", start: () => startForks("database", false) },
    "fork-durable": { title: "a2e, the same, durable", start: () => startForks("durable", false) },
    "fork-act": {
      title: "a2e, session/fork, then a step and a new entry in it",
      start: () => startForks("database", true),
    },
    clone: { title: "structuredClone of the same data", start: startClones },
  },
  bars: [
    {
      id: "fork",
      ours: "fork",
      peer: "clone",
      measure: "perSecond",
      atLeast: 20,
      claim: "forks of a session per second, `structuredClone` of its data = 1",
    },
    // A hundred forks against two copies.
    { id: "fork.memory", ours: "fork", peer: "clone", measure: "heapKb", atMost: 2 / keptForks },
  ],
};

async function startForks(storage: "database" | "durable", isUsed: boolean): Promise<RunningCase> {
  const session = await openFullSession(storage);
  const { api, host, close } = session;
  await assertForksAreWhole(session);

  const fork = async () => (await api(core).fork({})).session_id;
  const forget = (id: string) => host.sessions.delete(id);
  let changes = 0;
  /** So that no fork finds the work of the one before it done. */
  const change = async (at = session) => {
    changes += 1;
    const episode_id = at.episodeIds[changes % episodeCount] as string;
    await at.api(env).step({ episode_id, action: { type: "dec" } });
    await at
      .api(memory)
      .store({ entries: [{ key: `entry-${changes % entryCount}`, content: changes, tier: "working" }] });
  };

  async function forkAndAct(): Promise<string> {
    const id = await fork();
    const forked = await session.join(id);
    await change({ ...session, api: forked.api });
    return id;
  }

  return {
    async round(ms) {
      const timed = await timeEach(ms, isUsed ? forkAndAct : fork, { before: () => change(), after: forget });
      const before = await heapInUse();
      const kept: string[] = [];
      while (kept.length < keptForks) {
        await change();
        kept.push(await (isUsed ? forkAndAct() : fork()));
      }
      const heapKb = ((await heapInUse()) - before) / 1024 / keptForks;
      for (const id of kept) await forget(id);
      return { ...timed, heapKb };
    },
    close,
  };
}

async function startClones(): Promise<RunningCase> {
  const session = await openFullSession("database");
  const data = await session.data();
  await session.close();
  return {
    async round(ms) {
      const timed = await timeEach(ms, async () => structuredClone(data), {});
      const before = await heapInUse();
      const kept = Array.from({ length: keptCopies }, () => structuredClone(data));
      const heapKb = ((await heapInUse()) - before) / 1024 / kept.length;
      return { ...timed, heapKb };
    },
    async close() {},
  };
}

async function timeEach<Made>(
  ms: number,
  work: () => Promise<Made>,
  around: { before?(): Promise<unknown>; after?(made: Made): Promise<unknown> },
): Promise<Sample> {
  const times: number[] = [];
  let cpuUs = 0;
  const deadline = performance.now() + ms;
  while (performance.now() < deadline || times.length < 3) {
    await around.before?.();
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    const made = await work();
    times.push(performance.now() - startedAt);
    const { user, system } = process.cpuUsage(cpu);
    cpuUs += user + system;
    await around.after?.(made);
  }
  const totalMs = times.reduce((sum, time) => sum + time, 0);
  times.sort((one, other) => one - other);
  const quantileUs = (share: number) => (times[Math.floor(share * (times.length - 1))] as number) * 1000;
  return {
    perSecond: (times.length / totalMs) * 1000,
    cpuUs: cpuUs / times.length,
    p50Us: quantileUs(0.5),
    p99Us: quantileUs(0.99),
  };
}

/** A fork has everything, and what it writes stays with it. */
async function assertForksAreWhole({ api, join, episodeIds, host }: FullSession): Promise<void> {
  const { session_id } = await api(core).fork({});
  const forked = await join(session_id);
  const count = async (at: { api: FullSession["api"] }, tier: "working" | "semantic") =>
    (await at.api(memory).retrieve({ tier, limit: 1 })).total;
  const seen = [await count(forked, "working"), await count(forked, "semantic")];
  for (const episode_id of episodeIds) seen.push((await forked.api(env).observe({ episode_id })).obs.step_num);
  for (const tier of ["working", "semantic"] as const)
    await forked.api(memory).store({ entries: [{ key: "own", content: "of the fork", tier }] });
  const after = [await count({ api }, "working"), await count({ api }, "semantic")];
  const expected = JSON.stringify([entryCount, entryCount / 10, ...episodeIds.map((_, index) => index + 1)]);
  if (JSON.stringify(seen) !== expected) throw new Error(`a fork should have ${expected} and has ${seen}`);
  if (after.join() !== seen.slice(0, 2).join()) throw new Error("what a fork wrote reached its parent");
  await host.sessions.delete(session_id);
}
