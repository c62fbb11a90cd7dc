// What does it cost to start a program where it can do no harm, beside just starting it?
import { spawn } from "node:child_process";
import { defaultDockerImage, defaultSandboxLimits as defaults } from "../src/config/sandbox.ts";
import type { ProcessSandbox } from "../src/plugin/ports/sandbox.ts";
import { openBubblewrap } from "../src/sandboxes/bubblewrap/probe.ts";
import { openDocker } from "../src/sandboxes/docker/probe.ts";
import { createNoSandbox } from "../src/sandboxes/none.ts";
import type { Opened } from "../src/sandboxes/opened.ts";
import { createQuickJs } from "../src/sandboxes/quickjs/quickjs.ts";
import { runClosedLoop } from "./lib/closed-loop.ts";
import type { Benchmark, RunningCase } from "./lib/definition.ts";

const program = "/bin/true";
const loop = { inFlight: 1 };

export const benchmark: Benchmark = {
  id: "sandbox",
  title: `${program} from start to end, one after the other`,
  cases: {
    bare: { title: "bare spawn", start: startBare },
    none: {
      title: "none",
      start: () => startSandbox("none", async () => ({ sandbox: createNoSandbox(), explanation: "" })),
    },
    bubblewrap: { title: "bubblewrap", start: () => startSandbox("bubblewrap", () => openBubblewrap({ defaults })) },
    docker: {
      title: "docker",
      start: () => startSandbox("docker", () => openDocker({ defaults, image: defaultDockerImage })),
    },
    quickjs: { title: "quickjs, a script that returns at once", start: startQuickJs },
  },
  bars: [
    { id: "sandbox.none", ours: "none", peer: "bare", measure: "p50Us" },
    { id: "sandbox.bubblewrap", ours: "bubblewrap", peer: "bare", measure: "p50Us" },
    { id: "sandbox.docker", ours: "docker", peer: "bare", measure: "p50Us" },
    { id: "sandbox.quickjs", ours: "quickjs", peer: "bare", measure: "p50Us" },
  ],
};

async function startBare(): Promise<RunningCase> {
  const once = () => run(program, [], "/", {});
  return { round: (ms) => runClosedLoop(once, { ms, ...loop }), async close() {} };
}

async function startSandbox(name: string, open: () => Promise<Opened<ProcessSandbox>>): Promise<RunningCase> {
  const { sandbox, explanation } = await open();
  if (sandbox === undefined) return notRun(name, explanation);
  const command = { argv: [program] as const, cwd: "/tmp", env: {} };
  const once = async () => {
    const confinement = await sandbox.confine(command, { network: false, limits: {} });
    await run(confinement.file, confinement.args, confinement.cwd, confinement.env);
    await confinement.release();
  };
  return { round: (ms) => runClosedLoop(once, { ms, ...loop }), close: () => sandbox.close() };
}

async function startQuickJs(): Promise<RunningCase> {
  const sandbox = createQuickJs({ defaults });
  const { signal } = new AbortController();
  const once = () => sandbox.run({ source: "export default () => null", input: null, limits: {}, signal });
  return { round: (ms) => runClosedLoop(once, { ms, ...loop }), close: () => sandbox.close() };
}

/** A machine without it still measures the others. */
function notRun(name: string, explanation: string): RunningCase {
  process.stderr.write(`sandbox: ${name} is not run (${explanation})\n`);
  return { round: async () => ({ perSecond: Number.NaN, cpuUs: Number.NaN }), async close() {} };
}

function run(file: string, args: readonly string[], cwd: string, env: Readonly<Record<string, string>>): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd, env, stdio: "pipe", detached: true });
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`${file} ended with ${code}`))));
  });
}
