// A closed loop: each worker waits for its own call before it makes the next, so the load never outruns the answers.
import { createCpuMeter } from "./cpu.ts";
import type { Sample } from "./definition.ts";

interface LoopOptions {
  ms: number;
  inFlight: number;
  /** Processes besides this one that take part in the work. */
  pids?: readonly number[];
  /** Looks at the clock once in so many calls: where a call takes a microsecond, the clock would be part of it. */
  sampleEvery?: number;
  /** Lets timers and I/O have their turn once in so many calls; without it, calls that never leave the process starve them. */
  yieldEvery?: number;
}

export interface LoopSample extends Sample {
  calls: number;
}

export async function runClosedLoop(call: () => Promise<unknown>, options: LoopOptions): Promise<LoopSample> {
  const { ms, inFlight, pids = [], sampleEvery = 1, yieldEvery = Number.POSITIVE_INFINITY } = options;
  const latencies: number[] = [];
  let calls = 0;
  let isOver = false;
  const cpu = createCpuMeter(pids);
  const startedAt = performance.now();
  const deadline = startedAt + ms;

  async function work(): Promise<void> {
    while (!isOver) {
      calls += 1;
      if (calls % yieldEvery === 0) await new Promise(setImmediate);
      if (calls % sampleEvery !== 0) {
        await call();
        continue;
      }
      const before = performance.now();
      await call();
      const after = performance.now();
      latencies.push(after - before);
      if (after >= deadline) isOver = true;
    }
  }

  await Promise.all(Array.from({ length: inFlight }, work));
  const elapsedMs = performance.now() - startedAt;
  const cpuUs = cpu.elapsedUs() / calls;
  latencies.sort((one, other) => one - other);
  const quantileUs = (share: number) => (latencies[Math.floor(share * (latencies.length - 1))] ?? Number.NaN) * 1000;
  return { calls, perSecond: (calls / elapsedMs) * 1000, cpuUs, p50Us: quantileUs(0.5), p99Us: quantileUs(0.99) };
}
