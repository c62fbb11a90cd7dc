// Work that runs while another event happens: a second request, a cancel, a close, a restore, a fork.
import { expect, test } from "vitest";
import { A2EError } from "../../../protocol/errors.ts";
import { defineEnv } from "../define-env.ts";
import { box } from "../spaces/box.ts";
import { discrete } from "../spaces/discrete.ts";
import { reload, startEnv } from "../test-session.suite.ts";
import { keyOf } from "./saved-episode.ts";

/** An environment whose calls wait until the test lets them continue, and that records closed states. */
function createGate() {
  const waiting: (() => void)[] = [];
  const closed: number[] = [];
  let states = 0;
  const wait = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      waiting.push(resolve);
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
  const environment = defineEnv({
    name: "gate",
    actionSpace: discrete(10),
    observationSpace: box(0, 1000, { isInteger: true }),
    async reset({ options, signal, random }) {
      if (options.slow === true) await wait(signal);
      if (options.fail === true) throw new Error("no power");
      states += 1;
      return { number: states, drawn: random.integer(1000) };
    },
    async step(_state, action, { signal, random }) {
      const drawn = random.integer(1000);
      if (action !== 0) await wait(signal);
      if (action === 9) throw new Error("it broke");
      states += 1;
      return { state: { number: states, drawn } };
    },
    observe: ({ drawn }) => drawn,
    snapshot: (state) => state,
    restore: (saved) => saved as { number: number; drawn: number },
    close: ({ number }) => void closed.push(number),
  });
  return {
    environment,
    closed,
    /** Waits until `count` calls wait, and lets them continue. */
    async open(count = 1) {
      while (waiting.length < count) await new Promise((resolve) => setImmediate(resolve));
      for (const resolve of waiting.splice(0)) resolve();
    },
  };
}

async function start(options: object = {}) {
  const gate = createGate();
  const host = await startEnv({ envs: [gate.environment], builtin: false, ...options });
  return { ...host, gate };
}

const slow = { options: { slow: true } };

test("resets at the same time do not start more episodes than the limit", async () => {
  await using host = await start({ max_episodes: 2 });
  const session = await host.open();

  const resets = [1, 2, 3, 4].map(() => session.call("reset", slow));
  await host.gate.open(2);

  const outcomes = await Promise.allSettled(resets);
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
  expect(outcomes.filter(({ status }) => status === "rejected")).toMatchObject([
    { reason: { code: "reset_denied" } },
    { reason: { code: "reset_denied" } },
  ]);
});

test("a reset that fails does not close another episode", async () => {
  await using host = await start({ max_episodes: 1, when_full: "close_oldest" });
  const session = await host.open();
  const { episode_id } = (await session.call("reset", {})).obs;

  await expect(session.call("reset", { options: { fail: true } })).rejects.toThrow("no power");

  expect((await session.call("observe", { episode_id })).obs.episode_id).toBe(episode_id);
});

test("a reset that ends after its session was restored changes nothing, and its state is closed", async () => {
  await using host = await start();
  const before = await host.open();
  const first = (await before.call("reset", {})).obs.episode_id;
  const late = before.call("reset", slow);
  late.catch(() => {});
  await before.part.close?.();
  const after = await host.open({ state: before.state });
  const second = (await after.call("reset", {})).obs.episode_id;

  await host.gate.open();

  await expect(late).rejects.toMatchObject({ code: "cancelled" });
  expect((await after.call("observe", {})).obs.episode_id).toBe(second);
  for (const episode_id of [first, second]) await after.call("close", { episode_id });
  expect([...after.state.entries()].filter(([key]) => key.startsWith("episode/"))).toEqual([]);
  expect(host.gate.closed).toHaveLength(3);
});

test("a step that ends after its session was restored is neither recorded nor pushed", async () => {
  await using host = await start({ record_experiences: true, max_steps: 1 });
  const before = await host.open({ granted: ["env", "env_push"] });
  await before.call("reset", {});
  const saved = [...before.state.entries()];
  const late = before.call("step", { action: 1 });
  late.catch(() => {});
  before.state.replace(saved);
  await before.part.close?.();
  const after = await host.open({ state: before.state });

  await host.gate.open();
  await Promise.allSettled([late]);

  expect(before.pushed).toEqual([]);
  expect(new Map(after.state.entries())).toEqual(new Map(saved));
  expect((await after.call("observe", {})).obs.step_num).toBe(0);
  expect(after.handle("listExperiences", {}).total).toBe(0);
});

test("closing an episode waits for the running step, closes its state, and rejects waiting steps", async () => {
  await using host = await start();
  const session = await host.open();
  await session.call("reset", {});
  const running = session.call("step", { action: 1 });
  const waiting = session.call("step", { action: 1 });
  waiting.catch(() => {});

  await session.call("close", {});
  expect(host.gate.closed).toEqual([]);
  await host.gate.open();

  await running;
  await expect(waiting).rejects.toThrow("No active episode");
  await expect.poll(() => host.gate.closed).toEqual([2]);
});

test("a cancelled step leaves the episode and its random numbers unchanged, and a waiting step is never started", async () => {
  await using host = await start();
  const [session, twin] = [await host.open(), await host.open()];
  const { episode_id } = (await session.call("reset", { seed: 5 })).obs;
  await twin.call("reset", { seed: 5 });
  const cancel = new AbortController();
  const running = session.call("step", { episode_id, action: 1 }, cancel);
  const waiting = session.call("step", { episode_id, action: 1 }, cancel);
  await new Promise((resolve) => setImmediate(resolve));

  cancel.abort(new A2EError("cancelled", "not needed any more"));

  await expect(running).rejects.toMatchObject({ code: "cancelled" });
  await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
  expect((await session.call("observe", { episode_id })).obs.step_num).toBe(0);
  const step = async (at: typeof session) => (await at.call("step", { action: 0 })).obs.state;
  expect(await step(session)).toEqual(await step(twin));
});

test("a step that fails leaves the episode and its random numbers unchanged, even after a restart", async () => {
  await using host = await start();
  const [session, twin] = [await host.open(), await host.open()];
  await session.call("reset", { seed: 5 });
  await twin.call("reset", { seed: 5 });
  const failing = session.call("step", { action: 9 });
  failing.catch(() => {});
  await host.gate.open();
  await expect(failing).rejects.toThrow("it broke");

  const again = await host.open({ state: reload(session.state) });
  const expected = (await twin.call("step", { action: 0 })).obs.state;
  expect((await again.call("step", { action: 0 })).obs.state).toEqual(expected);
  expect((await session.call("step", { action: 0 })).obs.state).toEqual(expected);
});

test("a fork during a step starts from the state and the random numbers before the step", async () => {
  await using host = await start();
  const session = await host.open();
  await session.call("reset", { seed: 5 });
  const running = session.call("step", { action: 1 });
  await new Promise((resolve) => setImmediate(resolve));

  const fork = await host.open({ state: session.state.fork() });
  await host.gate.open();

  expect((await fork.call("step", { action: 0 })).obs).toMatchObject({
    step_num: 1,
    state: (await running).obs.state,
  });
});

test("a step whose observation throws changes nothing", async () => {
  const shy = defineEnv({
    name: "shy",
    actionSpace: discrete(2),
    observationSpace: box(0, 10, { isInteger: true }),
    reset: () => ({ count: 0 }),
    step: ({ count }, action) => ({ state: { count: action === 1 ? -1 : count + 1 } }),
    observe({ count }) {
      if (count < 0) throw new Error("it is dark");
      return count;
    },
  });
  await using host = await startEnv({ envs: [shy], builtin: false });
  const session = await host.open();
  session.handle("reset", {});
  session.handle("step", { action: 0 });

  await expect(session.call("step", { action: 1 })).rejects.toMatchObject({
    code: "runtime_error",
    message: expect.stringContaining("it is dark"),
  });

  expect(session.handle("observe", {}).obs).toMatchObject({ step_num: 1, state: { value: 1 } });
  expect(session.handle("step", { action: 0 }).obs).toMatchObject({ step_num: 2, state: { value: 2 } });
});

test("a state that a reset rejects is closed", async () => {
  const closed: unknown[] = [];
  const wrong = defineEnv({
    name: "wrong",
    actionSpace: discrete(1),
    observationSpace: discrete(1),
    reset: () => 7,
    step: () => ({}),
    close: (state) => void closed.push(state),
  });
  await using host = await startEnv({ envs: [wrong], builtin: false });
  const session = await host.open();

  await expect(session.call("reset", {})).rejects.toThrow("observation space");

  expect(closed).toEqual([7]);
});

test("a step without a result is answered with an error that names the environment", async () => {
  const idle = defineEnv({
    name: "idle",
    actionSpace: discrete(1),
    observationSpace: discrete(1),
    reset: () => 0,
    step: () => undefined as never,
  });
  await using host = await startEnv({ envs: [idle], builtin: false });
  const session = await host.open();
  session.handle("reset", {});

  await expect(session.call("step", { action: 0 })).rejects.toThrow('environment "idle" failed: its step returned no');
});

test("an autoreset closes the state of the round before, and a close that throws does not prevent it", async () => {
  const closed: number[] = [];
  let rounds = 0;
  const stubborn = defineEnv({
    name: "stubborn",
    actionSpace: discrete(1),
    observationSpace: discrete(100),
    reset: () => {
      rounds += 1;
      return rounds;
    },
    step: () => ({ done: true }),
    close(round) {
      closed.push(round);
      throw new Error("it sticks");
    },
  });
  await using host = await startEnv({ envs: [stubborn], builtin: false });
  const session = await host.open();
  const { episode_id } = session.handle("reset", {}).obs;
  session.handle("reset", {});

  session.handle("batchStep", { episode_id, actions: [0], autoreset: "same_step" });
  expect(closed).toEqual([1]);
  await session.part.close?.();

  expect(closed.sort()).toEqual([1, 2, 3]);
});

test("a batch runs a few episodes at a time, so that other calls get their turn, and completes all", async () => {
  let running = 0;
  let most = 0;
  const busy = defineEnv({
    name: "busy",
    actionSpace: discrete(1),
    observationSpace: discrete(100),
    reset: () => 0,
    async step(state) {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return { state: state + 1 };
    },
  });
  await using host = await startEnv({ envs: [busy], builtin: false });
  const session = await host.open();
  const episode_ids = Array.from({ length: 100 }, () => session.handle("reset", {}).obs.episode_id);

  const { results } = await session.call("batchStep", { episode_ids, actions: new Array(100).fill(0) });

  expect(results.map(({ obs }) => obs.state.value)).toEqual(new Array(100).fill(1));
  expect(most).toBe(32);
});

test("a slow batch is committed with its answer, so that a crash before it loses all of its steps", async () => {
  await using host = await start({ builtin: true, record_experiences: true });
  const session = await host.open();
  const reset = async (env_name: string) => (await session.call("reset", { env_name })).obs.episode_id;
  const episode_ids = [await reset("counter_env"), await reset("gate"), await reset("gate")];
  session.state.track(() => {});
  session.state.takeChanges();

  const stepping = session.call("batchStep", { episode_ids, actions: ["inc", 0, 1] });
  await new Promise((resolve) => setImmediate(resolve));
  expect(session.state.takeChanges()).toEqual([]);
  await host.gate.open();
  expect((await stepping).results.map(({ obs }) => obs.step_num)).toEqual([1, 1, 1]);

  const written = session.state.takeChanges().map(({ key }) => key);
  expect(written).toEqual(expect.arrayContaining(episode_ids.map(keyOf)));
  expect((await session.call("listExperiences", {})).total).toBe(3);
});

test("a step with an autoreset is committed with its answer, even if the reset is slow", async () => {
  let start = () => {};
  const sprint = defineEnv({
    name: "sprint",
    actionSpace: discrete(1),
    observationSpace: discrete(2),
    reset: () => new Promise<number>((resolve) => (start = () => resolve(0))),
    step: () => ({ state: 1, done: true }),
  });
  await using host = await startEnv({ envs: [sprint], autoreset: "same_step" });
  const session = await host.open();
  const resetting = session.call("reset", { env_name: "sprint" });
  start();
  const { episode_id } = (await resetting).obs;
  session.state.track(() => {});
  session.state.takeChanges();

  const stepping = session.call("step", { action: 0 });
  await new Promise((resolve) => setImmediate(resolve));
  expect(session.state.takeChanges()).toEqual([]);
  start();

  expect((await stepping).obs).toMatchObject({ step_num: 0, state: { value: 0 }, done: true });
  expect(session.state.takeChanges().map(({ key }) => key)).toEqual([keyOf(episode_id)]);
});

test("the size of the options of a reset is limited", async () => {
  await using host = await startEnv();
  const session = await host.open();
  await expect(session.call("reset", { options: { note: "x".repeat(70_000) } })).rejects.toMatchObject({
    code: "schema_violation",
    detail: { limit: "maxOptionsBytes" },
  });
});
