// What does it cost to run a program through a host, until its first byte and for a hundred million of them?
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { procPlugin } from "../src/caps/proc/plugin.ts";
import { proc } from "../src/caps/proc/protocol.ts";
import { A2EClient } from "../src/client/client.ts";
import type { Message } from "../src/protocol/envelope.ts";
import { createSandboxes } from "../src/sandboxes/sandboxes.ts";
import { createDirectTransport } from "../src/transports/direct.ts";
import { createCpuMeter } from "./lib/cpu.ts";
import type { Benchmark, RunningCase, Sample } from "./lib/definition.ts";
import { startAuditedHost } from "./servers/audited-host.ts";

const outputBytes = 100_000_000;
/** What a round may leave in memory after a collection: the host keeps the last output of processes that have ended. */
const maxKeptBytes = 16 * 1024 * 1024;
/**
 * What a round may use in between: less than the output of one process. Each read of Node allocates 64 kB, and the bare
 * pipe alone leaves 35 to 50 MB of that to the collector.
 */
const maxPeakBytes = 96 * 1024 * 1024;
const line = "2026-11-16T00:00:00.000Z info a line such as a program writes to its log, with a number in it: 4711\n";

export const benchmark: Benchmark = {
  id: "proc",
  title: "a program until its first byte, and 100 MB of output to an agent in process, audit on",
  cases: {
    spawn: { title: "a2e, spawn to first byte, sandbox none", start: () => startSpawns("none") },
    confined: { title: "a2e, spawn to first byte, in the best sandbox here", start: () => startSpawns("auto") },
    bareSpawn: {
      title: "child_process, spawn to first byte, in a session of its own",
      start: () => startBareSpawns(runApart),
    },
    plainSpawn: { title: "child_process, spawn to first byte", start: () => startBareSpawns(runBare) },
    output: { title: "a2e, MB of output", start: startOutput },
    bareOutput: {
      title: "child_process, MB through its pipe, in a session of its own",
      start: () => startBareOutput(runApart),
    },
    plainOutput: { title: "child_process, MB through its pipe", start: () => startBareOutput(runBare) },
  },
  bars: [
    {
      id: "proc.spawn",
      ours: "spawn",
      peer: "bareSpawn",
      measure: "p50Us",
      atMost: 1.3,
      claim: "time to the first byte of a process, `child_process` = 1",
    },
    { id: "proc.confined", ours: "confined", peer: "bareSpawn", measure: "p50Us" },
    { id: "proc.output", ours: "output", peer: "bareOutput", measure: "perSecond", atLeast: 0.5 },
    { id: "proc.plain_spawn", ours: "spawn", peer: "plainSpawn", measure: "p50Us" },
    { id: "proc.plain_output", ours: "output", peer: "plainOutput", measure: "perSecond" },
    { id: "proc.memory", ours: "output", peer: "bareOutput", measure: "heapKb" },
  ],
};

/** Starts a program; calls back with its output and resolves when it has ended. */
type Run = (cmd: [string, ...string[]], onOutput: (bytes: number) => void) => Promise<void>;

async function startHost(sandbox: string): Promise<{ run: Run; close(): Promise<void> }> {
  const plugin = procPlugin({ sandbox, allowed_commands: ["*"] });
  const { host, close } = await startAuditedHost({ plugins: [plugin], sandboxes: createSandboxes() });
  const transport = createDirectTransport(() => host.sessions.create());
  const client = await A2EClient.connect({ transport, capabilities: [proc.name] });
  const api = client.use(proc);
  let calls = 0;
  let hear = (_event: Message) => {};
  client.onPush(proc.pushes.read, (event) => hear(event));
  return {
    run: (cmd, onOutput) =>
      new Promise((resolve, reject) => {
        calls += 1;
        hear = ({ data }) => {
          const { text, code } = data as { text?: string; code?: number };
          if (text !== undefined) onOutput(text.length);
          if (code !== undefined) resolve();
        };
        api.spawn({ cmd, stdin_mode: "pipe" }).then(({ ok, error }) => {
          if (!ok) reject(new Error(error));
        }, reject);
      }),
    async close() {
      await client.disconnect();
      const audited = await close("proc/spawn/req");
      if (audited !== calls) throw new Error(`${calls} processes were started and ${audited} are in the audit log`);
    },
  };
}

function createBareRun(detached: boolean): Run {
  return ([file, ...args], onOutput) =>
    new Promise((resolve, reject) => {
      const child = spawn(file, args, { stdio: ["pipe", "pipe", "pipe"], detached });
      child.stdout.on("data", (bytes: Buffer) => onOutput(bytes.length));
      child.stderr.resume();
      child.once("error", reject);
      child.once("close", () => resolve());
    });
}

const runBare = createBareRun(false);
/** As whoever must be able to end all of a group starts it. Linux shares its processors between sessions, not processes. */
const runApart = createBareRun(true);

async function startSpawns(sandbox: string): Promise<RunningCase> {
  const { run, close } = await startHost(sandbox);
  return { round: (ms) => measureSpawns(run, ms), close };
}

/** Starting a process copies the page tables of whoever starts it, so the peer too stands in a process that has a host. */
async function startBareSpawns(run: Run): Promise<RunningCase> {
  const { close } = await startHost("none");
  return { round: (ms) => measureSpawns(run, ms), close };
}

async function measureSpawns(run: Run, ms: number): Promise<Sample> {
  const cpu = createCpuMeter([]);
  const toFirstByteUs: number[] = [];
  const until = performance.now() + ms;
  while (performance.now() < until) {
    const startedAt = performance.now();
    let firstAt = 0;
    await run(["echo", "hello"], () => {
      if (firstAt === 0) firstAt = performance.now();
    });
    if (firstAt === 0) throw new Error("a process said nothing");
    toFirstByteUs.push((firstAt - startedAt) * 1000);
  }
  toFirstByteUs.sort((one, other) => one - other);
  const at = (share: number) => toFirstByteUs[Math.floor(toFirstByteUs.length * share)] ?? Number.NaN;
  const count = toFirstByteUs.length;
  return { perSecond: (count / ms) * 1000, cpuUs: cpu.elapsedUs() / count, p50Us: at(0.5), p99Us: at(0.99) };
}

async function startOutput(): Promise<RunningCase> {
  const { run, close } = await startHost("none");
  return withFile((path, ms) => measureOutput(run, path, ms), close);
}

async function startBareOutput(run: Run): Promise<RunningCase> {
  const { close } = await startHost("none");
  return withFile((path, ms) => measureOutput(run, path, ms), close);
}

async function withFile(
  measure: (path: string, ms: number) => Promise<Sample>,
  close: () => Promise<void>,
): Promise<RunningCase> {
  const folder = await mkdtemp(join(tmpdir(), "a2e-bench-"));
  const path = join(folder, "log.txt");
  await writeFile(path, line.repeat(outputBytes / line.length + 1).slice(0, outputBytes));
  return {
    round: (ms) => measure(path, ms),
    async close() {
      await rm(folder, { recursive: true });
      await close();
    },
  };
}

async function measureOutput(run: Run, path: string, ms: number): Promise<Sample> {
  const before = await keptBytes();
  const cpu = createCpuMeter([]);
  const startedAt = performance.now();
  let bytes = 0;
  let chunks = 0;
  let runs = 0;
  let peak = before;
  while (performance.now() - startedAt < ms) {
    runs += 1;
    await run(["cat", path], (length) => {
      bytes += length;
      chunks += 1;
      // Often enough to see a leak, seldom enough not to be what is measured.
      if (chunks % 64 === 0) peak = Math.max(peak, inUse());
    });
  }
  const seconds = (performance.now() - startedAt) / 1000;
  if (bytes !== runs * outputBytes) throw new Error(`${runs * outputBytes} bytes were written and ${bytes} arrived`);
  const cpuUs = cpu.elapsedUs();
  const kept = (await keptBytes()) - before;
  if (kept > maxKeptBytes) throw new Error(`${kept} bytes were left in memory after a collection`);
  if (peak - before > maxPeakBytes) throw new Error(`memory grew by ${peak - before} bytes in between`);
  const megabytes = bytes / 1e6;
  return { perSecond: megabytes / seconds, cpuUs: cpuUs / megabytes, heapKb: (peak - before) / 1024 };
}

/** Twice, with a turn in between: the memory of buffers is freed after the collection that finds them. */
async function keptBytes(): Promise<number> {
  for (let count = 0; count < 2; count++) {
    globalThis.gc?.();
    await new Promise(setImmediate);
  }
  return inUse();
}

function inUse(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
