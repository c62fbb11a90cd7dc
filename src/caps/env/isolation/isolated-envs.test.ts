import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { reload, startEnv } from "../test-session.suite.ts";

let folder: string;
const source = (name: string) => JSON.stringify(fileURLToPath(new URL(name, import.meta.url)));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "a2e-env-module-"));
  writeFileSync(
    join(folder, "envs.mjs"),
    `import { defineEnv } from ${source("../define-env.ts")};
     import { choice } from ${source("../spaces/discrete.ts")};
     import { box } from ${source("../spaces/box.ts")};
     export const risky = defineEnv({
       name: "risky",
       actionSpace: choice(["roll", "wait", "block", "exit", "hog", "throw"]),
       observationSpace: box(0, 1000, { isInteger: true }),
       reset: ({ options }) => options.start ?? 0,
       step(state, action, { random, push }) {
         if (action === "wait") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
         if (action === "block") for (;;);
         if (action === "exit") process.exit(3);
         if (action === "hog") { const kept = []; for (;;) kept.push(new Array(1e5).fill({})); }
         if (action === "throw") throw new Error("unlucky");
         push({ event_type: "status", reason: "rolled" });
         return { state: state + 1 + random.integer(6), reward: 1 };
       },
       plan: () => ["roll"],
       render: (state, mode) => (mode === "text" ? "sum " + state : undefined),
     });`,
  );
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const start = (isolation: "none" | "worker", worker_timeout_ms = 30_000) =>
  startEnv({
    modules: ["./envs.mjs"],
    base_dir: folder,
    isolation,
    workers: 2,
    worker_timeout_ms,
    worker_memory_mb: 64,
  });

test("an isolated environment plays the same episode as one in the host", async () => {
  await using inHost = await start("none");
  await using inWorker = await start("worker");
  const sessions = await Promise.all([inHost.open(), inWorker.open({ granted: ["env", "env_push"] })]);
  const played = sessions.map(async (session) => {
    const { episode_id } = (await session.call("reset", { env_name: "risky", seed: 4, options: { start: 2 } })).obs;
    const states = [];
    for (let step = 0; step < 5; step++)
      states.push((await session.call("step", { episode_id, action: "roll" })).obs.state);
    const { outcomes } = await session.call("whatIf", { actions: ["roll", "throw"] });
    const { render } = await session.call("render", { mode: "text" });
    const plan = await session.call("plan", {});
    return { states, outcomes: outcomes.map(({ obs, error }) => obs?.state ?? error?.message), render, plan };
  });

  const [expected, found] = await Promise.all(played);

  expect(found).toEqual(expected);
  expect(found?.plan).toEqual({ suggested_actions: [{ value: "roll" }] });
  expect(sessions[1]?.pushed).toMatchObject(new Array(5).fill({ reason: "rolled" }));
});

test.each([
  ["exit", "sandbox_crash"],
  ["hog", "out_of_memory"],
  ["block", "timeout"],
  ["throw", "runtime_error"],
])(
  "a step of an isolated environment with the action %s fails with %s and affects no other episode",
  async (action, code) => {
    await using host = await start("worker", action === "block" ? 2000 : undefined);
    const session = await host.open();
    const other = (await session.call("reset", { env_name: "risky", seed: 1 })).obs.episode_id;
    const { episode_id } = (await session.call("reset", { env_name: "risky", seed: 1 })).obs;
    const first = (await session.call("step", { episode_id, action: "roll" })).obs;

    const [failed, fine] = await Promise.allSettled([
      session.call("step", { episode_id, action }),
      session.call("step", { episode_id: other, action: "roll" }),
    ]);

    expect(failed).toMatchObject({ status: "rejected", reason: { code } });
    expect(fine).toMatchObject({ status: "fulfilled", value: { obs: { state: first.state } } });
    // State and random numbers are unchanged: an agent may continue, even after a restart.
    const again = await host.open({ state: reload(session.state) });
    expect((await again.call("observe", { episode_id })).obs).toMatchObject({ step_num: 1, state: first.state });
    const next = await again.call("step", { episode_id, action: "roll" });
    expect(next.obs.state).toEqual((await session.call("step", { episode_id: other, action: "roll" })).obs.state);
  },
);

test("a module that cannot be loaded in a worker stops the start", async () => {
  await expect(startEnv({ modules: ["./none.mjs"], base_dir: folder, isolation: "worker" })).rejects.toThrow(
    "none.mjs",
  );
});

test("a session that keeps all threads busy does not block another session", async () => {
  await using host = await start("worker");
  const [busy, other] = [await host.open(), await host.open()];
  const episode_ids: string[] = [];
  for (let count = 0; count < 20; count++)
    episode_ids.push((await busy.call("reset", { env_name: "risky" })).obs.episode_id);
  await other.call("reset", { env_name: "risky" });
  let done = 0;
  const steps = episode_ids.map(async (episode_id) => {
    await busy.call("step", { episode_id, action: "wait" });
    done += 1;
  });

  await other.call("step", { action: "roll" });

  expect(done).toBeLessThan(18);
  await Promise.all(steps);
});
