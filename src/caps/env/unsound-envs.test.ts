// Environments that violate their contract affect only their own episodes.
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSqlJournal } from "../../durability/journal/sql-journal-store.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { startHost } from "../../testing/start-host.ts";
import { defineEnv } from "./define-env.ts";
import { envPlugin } from "./plugin.ts";
import { discrete } from "./spaces/discrete.ts";
import { reload, startEnv } from "./test-session.suite.ts";

const spaces = { actionSpace: discrete(2), observationSpace: discrete(10) };
/** Its state becomes a value that JSON cannot represent. */
const unwritable = defineEnv({
  name: "unwritable",
  ...spaces,
  reset: () => ({ count: 0n as unknown }),
  step: () => ({ state: { count: 1n } }),
  observe: () => 1,
  snapshot({ count }) {
    if (count === 1n) throw new Error("it does not fit");
    return 0;
  },
  restore: () => ({ count: 0n }),
});

test("an episode that cannot be saved does not prevent other sessions from being saved", async () => {
  const database = await createSqliteDatabase({ path: ":memory:" });
  await using host = await startHost({
    plugins: [envPlugin({ envs: [unwritable] })],
    database,
    journal: createSqlJournal(database),
  });
  const { env } = host.client;
  const other = await host.connect();
  await env.reset({ env_name: "unwritable" });
  const { episode_id } = (await other.env.reset({ env_name: "counter_env" })).obs;

  const [, step] = await Promise.all([
    env.step({ action: 0 }),
    other.env.step({ episode_id, action: { type: "inc" } }),
  ]);

  expect(step.obs.state).toEqual({ count: 1 });
  expect((await other.env.observe({ episode_id })).obs.state).toEqual({ count: 1 });
  await expect(env.step({ action: 0 })).rejects.toThrow("its state cannot be written: it does not fit");
  await expect(env.observe()).rejects.toMatchObject({ code: "runtime_error" });
  await env.reset({ env_name: "counter_env" });
  expect((await env.step({ action: { type: "inc" } })).obs.state).toEqual({ count: 1 });
});

test("an episode that could not be saved is answered with the reason after a restart", async () => {
  await using host = await startEnv({ envs: [unwritable] });
  const session = await host.open();
  session.handle("reset", { env_name: "unwritable" });
  session.handle("step", { action: 0 });

  const after = await host.open({ state: reload(session.state) });

  await expect(after.call("step", { action: 0 })).rejects.toThrow("its state cannot be written");
});

test.each([
  ["infinite", { count: Number.POSITIVE_INFINITY }],
  ["a map", { count: new Map() }],
  ["a date", { count: new Date(0) }],
  ["a list with holes", { count: new Array(3) }],
  ["a symbol", { count: Symbol("count") }],
])("a state that JSON would change ends its episode: %s", async (_what, state) => {
  const changing = defineEnv({
    name: "changing",
    ...spaces,
    reset: () => ({ count: 0 as unknown }),
    step: () => ({ state }),
    observe: () => 1,
  });
  await using host = await startEnv({ envs: [changing] });
  const session = await host.open();
  session.handle("reset", { env_name: "changing" });
  session.handle("step", { action: 0 });

  await expect(session.call("fork", {})).rejects.toThrow("its state is not JSON");

  await expect(session.call("step", { action: 0 })).rejects.toThrow("its state is not JSON");
  const after = await host.open({ state: reload(session.state) });
  await expect(after.call("observe", {})).rejects.toThrow("its state is not JSON");
});

test("a field with the value undefined in a state is treated as missing", async () => {
  const winner: number | undefined = undefined;
  const match = defineEnv({ name: "match", ...spaces, reset: () => ({ winner }), step: () => ({}), observe: () => 1 });
  await using host = await startEnv({ envs: [match] });
  const session = await host.open();
  session.handle("reset", { env_name: "match" });

  expect(session.handle("fork", {}).obs.state).toEqual({ value: 1 });
});

test("a step whose info is not a JSON object is answered with an error and changes nothing", async () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  const infos = [cyclic, { big: 1n }, 5];
  const informer = defineEnv({
    name: "informer",
    actionSpace: discrete(infos.length),
    observationSpace: discrete(10),
    reset: () => 0,
    step: (state, action) => ({ state: state + 1, info: infos[action] as never }),
  });
  await using host = await startHost(envPlugin({ envs: [informer], builtin: false }));
  const { env } = host.client;
  await env.reset();

  for (const action of infos.keys())
    await expect(env.step({ action })).rejects.toMatchObject({ code: "runtime_error" });

  expect((await env.observe()).obs).toMatchObject({ step_num: 0, state: { value: 0 } });
});

test("an invalid event that an environment pushes is dropped and fails no call", async () => {
  const babbler = defineEnv({
    name: "babbler",
    ...spaces,
    reset: () => 0,
    step(_state, _action, { push }) {
      push({} as never);
      push(undefined as never);
      push({ event_type: "status", reward: Number.NaN });
      push({ event_type: "status" });
      return {};
    },
  });
  await using host = await startHost({
    plugins: [envPlugin({ envs: [babbler], builtin: false })],
    client: { capabilities: ["env", "env_push"] },
  });
  const pushed: unknown[] = [];
  host.client.onPush("*", (message) => void pushed.push(message));
  await host.client.env.reset();

  await host.client.env.step({ action: 0 });

  expect(pushed).toMatchObject([{ event_type: "status", step_id: 0 }]);
});

let folder: string;
const source = (name: string) => JSON.stringify(fileURLToPath(new URL(name, import.meta.url)));
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "a2e-unsound-"));
  writeFileSync(
    join(folder, "envs.mjs"),
    `import { defineEnv } from ${source("./define-env.ts")};
     import { choice, discrete } from ${source("./spaces/discrete.ts")};
     let open = 0;
     export const unsound = defineEnv({
       name: "unsound",
       actionSpace: choice(["babble", "flood", "throw", "nothing", "wait", "doubt", "overflow"]),
       observationSpace: discrete(1000),
       reset: () => ({ count: 0 }),
       async step(state, action, { push }) {
         open += 1;
         if (action === "babble") { push({}); push({ event_type: "status", reward: NaN }); }
         if (action === "flood") for (let at = 0; at < 100000; at++) push({ event_type: "status" });
         if (action === "throw") throw new Error("unlucky");
         if (action === "nothing") { state.count = open; return { state: undefined }; }
         if (action === "wait") await new Promise(() => {});
         if (action === "doubt") return { reward: NaN };
         if (action === "overflow") return { state: { count: Infinity } };
         return { state: { count: open } };
       },
       observe: ({ count }) => count,
       close() { open -= 1; },
     });
     export const wilful = defineEnv({
       name: "wilful",
       actionSpace: discrete(1),
       observationSpace: discrete(10),
       reset: () => 0,
       step: (state) => ({ state: state + 1 }),
       close() { throw new Error("it stays open"); },
     });`,
  );
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("invalid, too many or no messages of an isolated environment fail at most its own step", async () => {
  await using host = await startHost({
    plugins: [
      envPlugin({ builtin: false, modules: ["./envs.mjs"], base_dir: folder, isolation: "worker", workers: 1 }),
    ],
    client: { capabilities: ["env", "env_push"] },
  });
  const { env } = host.client;
  await env.reset();

  expect((await env.step({ action: "babble" })).obs.step_num).toBe(1);
  await expect(env.step({ action: "flood" })).rejects.toThrow("pushed more than 1000 events");
  await expect(env.step({ action: "throw" })).rejects.toThrow("unlucky");
  // Each call closes the state that it opened, even if it fails; the state of the reset was closed as well.
  expect((await env.step({ action: "nothing" })).obs.state).toEqual({ value: 0 });
});

test.each(["none", "worker"] as const)(
  "an invalid reward, a state that is not JSON and a close that throws are handled the same with isolation: %s",
  async (isolation) => {
    await using host = await startHost(
      envPlugin({ builtin: false, modules: ["./envs.mjs"], base_dir: folder, isolation }),
    );
    const { env } = host.client;
    await env.reset({ env_name: "unsound" });

    expect((await env.step({ action: "doubt" })).obs.reward).toBeNull();
    const overflow = async () => {
      await env.step({ action: "overflow" });
      await env.fork();
    };
    await expect(overflow()).rejects.toThrow("its state is not JSON");
    await env.reset({ env_name: "wilful" });
    expect((await env.step({ action: 0 })).obs.state).toEqual({ value: 1 });
    await env.close();
  },
);

test("a cancelled step of an isolated environment never happens", async () => {
  await using host = await startEnv({
    builtin: false,
    modules: ["./envs.mjs"],
    base_dir: folder,
    isolation: "worker",
    workers: 1,
  });
  const session = await host.open();
  await session.call("reset", {});
  const cancel = new AbortController();
  const step = session.call("step", { action: "wait" }, cancel);
  step.catch(() => {});
  await new Promise((resolve) => setImmediate(resolve));

  cancel.abort(new Error("not needed"));

  await expect(step).rejects.toThrow("not needed");
  expect((await session.call("step", { action: "babble" })).obs.step_num).toBe(1);
});

test("a timeout that is too long for a timer is rejected", () => {
  expect(() => envPlugin({ worker_timeout_ms: 2 ** 31 })).toThrow("worker_timeout_ms");
});
