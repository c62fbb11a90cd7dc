// What does remembering cost beside the database that does it?
import { memoryPlugin } from "../src/caps/memory/plugin.ts";
import { memory } from "../src/caps/memory/protocol.ts";
import { A2EClient } from "../src/client/client.ts";
import { createDirectTransport } from "../src/transports/direct.ts";
import { openBareMemory } from "./lib/bare-memory.ts";
import { runClosedLoop } from "./lib/closed-loop.ts";
import { createCorpus } from "./lib/corpus.ts";
import { createCpuMeter } from "./lib/cpu.ts";
import type { Benchmark, RunningCase, Sample } from "./lib/definition.ts";
import { type AuditedHostOptions, startAuditedHost } from "./servers/audited-host.ts";

const entryCount = 50_000;
const requestSize = 10_000;
const requestsPerRound = 2;
const limit = 10;
const loop = { inFlight: 1, yieldEvery: 16 };

export const benchmark: Benchmark = {
  id: "memory",
  title: `full-text queries over ${entryCount} entries; storing ${requestSize} entries in one request`,
  cases: {
    query: { title: "a2e, memory/retrieve of two words", start: startQueries },
    "bare-query": { title: "bare FTS5, the same two words", start: startBareQueries },
    store: { title: "a2e, entries stored", start: () => startStoring("database") },
    "store-durable": { title: "a2e, entries stored, answers durable", start: () => startStoring("durable") },
    "bare-store": { title: "bare inserts with FTS5 rows, entries", start: startBareStoring },
  },
  bars: [
    {
      id: "memory.query",
      ours: "query",
      peer: "bare-query",
      measure: "p50Us",
      atMost: 2,
      claim: "time of a full-text query over 50,000 entries, the bare FTS5 index = 1",
    },
    { id: "memory.store", ours: "store", peer: "bare-store", measure: "perSecond", atLeast: 0.5 },
  ],
};

async function connectMemory(storage: NonNullable<AuditedHostOptions["storage"]>) {
  const { host, close } = await startAuditedHost({ plugins: [memoryPlugin()], storage });
  const transport = createDirectTransport(() => host.sessions.create());
  const client = await A2EClient.connect({ transport, capabilities: [memory.name], agentId: "bench" });
  const api = client.use(memory);
  return {
    api,
    async close() {
      await client.disconnect();
      await close("memory/store/req");
    },
  };
}

async function startQueries(): Promise<RunningCase> {
  const { api, close } = await connectMemory("database");
  const corpus = createCorpus();
  for (let from = 0; from < entryCount; from += requestSize) {
    const entries = corpus.entries(from, requestSize).map((entry) => ({ ...entry, tier: "semantic" as const }));
    const { stored } = await api.store({ entries });
    assertCount(stored.length, requestSize);
  }
  let count = 0;
  const query = async () => {
    count += 1;
    const { entries } = await api.retrieve({ tier: "semantic", query: queryAt(corpus.queries, count), limit });
    if (entries.length === 0) throw new Error("a query found nothing");
  };
  return { round: (ms) => runClosedLoop(query, { ms, ...loop }), close };
}

async function startBareQueries(): Promise<RunningCase> {
  const { createSpace, close } = await openBareMemory();
  const corpus = createCorpus();
  const space = createSpace();
  for (let from = 0; from < entryCount; from += requestSize) space.store(corpus.entries(from, requestSize));
  let count = 0;
  const query = async () => {
    count += 1;
    const rows = space.query(queryAt(corpus.queries, count).split(" "), limit);
    if (rows.length === 0) throw new Error("a query found nothing");
  };
  return { round: (ms) => runClosedLoop(query, { ms, ...loop }), close };
}

async function startStoring(storage: "database" | "durable"): Promise<RunningCase> {
  const { api, close } = await connectMemory(storage);
  let spaces = 0;
  return {
    round: () =>
      measureStoring(async () => {
        spaces += 1;
        await api.init({ namespace: `space-${spaces}` });
        return async (entries) => {
          const { stored } = await api.store({
            entries: entries.map((entry) => ({ ...entry, tier: "semantic" as const })),
          });
          // Where the answer does not wait for the commit, it comes at the end of this turn.
          await new Promise(setImmediate);
          assertCount(stored.length, requestSize);
        };
      }),
    close,
  };
}

async function startBareStoring(): Promise<RunningCase> {
  const { createSpace, close } = await openBareMemory();
  return {
    round: () =>
      measureStoring(async () => {
        const space = createSpace();
        return async (entries) => space.store(entries);
      }),
    close,
  };
}

type StoreAll = (entries: readonly { key: string; content: string }[]) => Promise<void>;

/** Every request finds a memory that is empty, beside those of the requests before it. */
async function measureStoring(open: () => Promise<StoreAll>): Promise<Sample> {
  const entries = createCorpus().entries(0, requestSize);
  let elapsedMs = 0;
  let cpuUs = 0;
  for (let request = 0; request < requestsPerRound; request++) {
    const storeAll = await open();
    globalThis.gc?.();
    const cpu = createCpuMeter([]);
    const startedAt = performance.now();
    await storeAll(entries);
    elapsedMs += performance.now() - startedAt;
    cpuUs += cpu.elapsedUs();
  }
  const stored = requestSize * requestsPerRound;
  return { perSecond: (stored / elapsedMs) * 1000, cpuUs: cpuUs / stored };
}

function queryAt(queries: readonly string[], count: number): string {
  return queries[count % queries.length] as string;
}

function assertCount(stored: number, expected: number): void {
  if (stored !== expected) throw new Error(`${stored} of ${expected} entries were stored`);
}
