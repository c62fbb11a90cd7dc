// Kills a loaded host again and again. What an agent was told must be true afterwards, and nothing may have happened twice.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";

import { connect } from "./connect-node.ts";

const kills = process.env.SOAK === "1" ? 500 : 50;
const workers = 8;

let folder = "";
let script = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "a2e-crash-"));
  // Next to the sources, so that the packages it leaves out are found from there.
  script = join(import.meta.dirname, `../../node_modules/.crash-host-${process.pid}.mjs`);
  await build({
    entryPoints: [join(import.meta.dirname, "crash-host.suite.ts")],
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    outfile: script,
  });
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await rm(script, { force: true });
});

async function startHost(port: number): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(script, [folder, String(port)], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const [message] = (await once(child, "message")) as [{ port: number }];
  return { child, port: message.port };
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

test(`after ${kills} kills at random moments nothing acknowledged is lost and nothing has run twice`, {
  timeout: 600_000,
}, async () => {
  const random = seeded(20_261_115);
  let host = await startHost(0);
  const client = await connect(`http://127.0.0.1:${host.port}`, {
    agentId: "survivor",
    reconnect: { initialBackoffMs: 10, maxBackoffMs: 100 },
    timeoutMs: 0,
  });
  const { obs } = await client.env.reset({ env_name: "counter_env", options: {} });
  const { plan_id } = await client.planning.createPlan({ name: "survive" });
  const counts = { steps: 0, tasks: 0, working: 0, episodic: 0 };
  let isOver = false;

  const work = async (worker: number) => {
    for (let round = 0; !isOver; round++) {
      const name = `${worker}-${round}`;
      const choice = round % 4;
      if (choice === 0) {
        await client.env.step({ episode_id: obs.episode_id, action: { type: "dec" } });
        counts.steps += 1;
      } else if (choice === 1) {
        await client.planning.addTask({ plan_id, title: name });
        counts.tasks += 1;
      } else {
        const tier = choice === 2 ? "working" : "episodic";
        const stored = await client.memory.store({ entries: [{ key: name, content: name, tier }] });
        expect(stored.errors).toEqual([]);
        counts[tier] += 1;
      }
    }
  };
  const working = Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));

  for (let count = 0; count < kills; count++) {
    await new Promise((resolve) => setTimeout(resolve, 20 + random() * 150));
    await kill(host.child);
    host = await startHost(host.port);
  }
  isOver = true;
  await working;
  await kill(host.child);
  host = await startHost(host.port);

  const observed = await client.env.observe({ episode_id: obs.episode_id });
  const { tasks } = await client.planning.listTasks({ plan_id });
  const episodic = await client.memory.retrieve({ tier: "episodic", limit: 1 });
  const recent = await client.memory.retrieve({ tier: "working", limit: 1 });
  expect(observed.obs.step_num).toBe(counts.steps);
  expect(observed.obs.state).toMatchObject({ count: -counts.steps });
  expect(new Set(tasks.map(({ title }) => title)).size).toBe(tasks.length);
  expect(tasks.length).toBe(counts.tasks);
  expect(episodic.total).toBe(counts.episodic);
  expect(recent.total).toBe(counts.working);
  expect(counts.steps).toBeGreaterThan(kills);
  await client.disconnect();
  await kill(host.child);
});

/** The same moments in every run, as far as the machine allows. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
