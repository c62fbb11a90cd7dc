// Runs the cases of a benchmark in turns. The machine changes its mind about its speed from minute to minute, so cases
// alternate within each round, and ratios are taken within rounds, never between them.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import type { CaseCommand, CaseReply } from "./case-process.ts";
import type { BenchCase, Benchmark, Sample } from "./definition.ts";

export interface RoundOptions {
  rounds: number;
  ms: number;
  /** Where CPU profiles of all processes go, for whoever wants to know where the time is spent. */
  profileFolder?: string;
  /** Told what is going on, for whoever waits. */
  progress(text: string): void;
}

/** The samples of each case, by round. */
export type Samples = Record<string, Sample[]>;

/** How long a case may take to start, to warm up or to finish a round. */
const replyTimeoutMs = 120_000;
const minWarmUpMs = 1_000;

export async function runRounds(benchmark: Benchmark, options: RoundOptions): Promise<Samples> {
  const { rounds, ms, profileFolder, progress } = options;
  const ids = Object.keys(benchmark.cases);
  const samples: Samples = Object.fromEntries(ids.map((id) => [id, []]));
  const running = new Map<string, CaseProcess>();
  try {
    for (const id of ids) {
      if (benchmark.cases[id]?.isFreshEachRound) continue;
      progress(`${benchmark.id}: warming up ${id}`);
      const started = await startCase(benchmark, id, profileFolder);
      running.set(id, started);
      await started.round(Math.max(ms, minWarmUpMs));
    }
    for (let round = 1; round <= rounds; round++) {
      // Whoever comes first in a round finds the machine in the state in which the last one left it: take turns at that.
      for (const id of round % 2 === 1 ? ids : ids.toReversed()) {
        progress(`${benchmark.id}: round ${round} of ${rounds}, ${id}`);
        const sample = await sampleOf(running.get(id), () => startCase(benchmark, id, profileFolder), ms);
        samples[id]?.push(sample);
      }
    }
    for (const started of running.values()) await started.close();
    return samples;
  } finally {
    for (const { kill } of running.values()) kill();
  }
}

async function sampleOf(
  running: CaseProcess | undefined,
  start: () => Promise<CaseProcess>,
  ms: number,
): Promise<Sample> {
  if (running !== undefined) return running.round(ms);
  const fresh = await start();
  try {
    const sample = await fresh.round(ms);
    await fresh.close();
    return sample;
  } finally {
    fresh.kill();
  }
}

interface CaseProcess {
  round(ms: number): Promise<Sample>;
  close(): Promise<void>;
  kill(): void;
}

async function startCase(benchmark: Benchmark, id: string, profileFolder?: string): Promise<CaseProcess> {
  const script = fileURLToPath(new URL("./case-process.js", import.meta.url));
  const profiling = profileFolder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`];
  const flags = ["--no-warnings", "--expose-gc", ...profiling];
  const command = [...pinning(benchmark.cases[id]), process.execPath, ...flags, script, benchmark.id, id];
  const child = spawn(command[0] as string, command.slice(1), { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const ask = async (request?: CaseCommand): Promise<CaseReply> => {
    if (request !== undefined) child.send(request);
    const reply = await replyOf(child);
    if (reply.error !== undefined) throw new Error(`${benchmark.id}, case "${id}": ${reply.error}`);
    return reply;
  };
  try {
    await ask();
  } catch (error) {
    child.kill();
    throw error;
  }
  return {
    round: async (ms) => (await ask({ do: "round", ms })).sample as Sample,
    close: async () => void (await ask({ do: "close" })),
    kill: () => {
      if (child.connected) child.disconnect();
    },
  };
}

/** One in flight across two processes is bimodal: with an idle core beside them they are woken four times slower. */
function pinning(benchCase: BenchCase | undefined): string[] {
  if (!benchCase?.isPinned || !canPin()) return [];
  return ["taskset", "-c", String(cpus().length - 1)];
}

export function canPin(): boolean {
  return spawnSync("taskset", ["--version"], { stdio: "ignore" }).status === 0;
}

function replyOf(child: ChildProcess): Promise<CaseReply> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => finish(() => reject(new Error("a case gave no sign of life"))), replyTimeoutMs);
    const onMessage = (message: unknown) => finish(() => resolve(message as CaseReply));
    const onExit = (code: number | null) => finish(() => reject(new Error(`a case ended with code ${code}`)));
    const onError = (error: Error) => finish(() => reject(error));
    child.on("message", onMessage).on("exit", onExit).on("error", onError);
    function finish(settle: () => void): void {
      clearTimeout(timer);
      child.off("message", onMessage).off("exit", onExit).off("error", onError);
      settle();
    }
  });
}
