// Restarts, forks, batches, autoresets and experiences.
import { expect, test } from "vitest";
import type { JsonValue } from "../../../protocol/json.ts";
import { defineEnv } from "../define-env.ts";
import { box } from "../spaces/box.ts";
import { dict } from "../spaces/composite.ts";
import { discrete } from "../spaces/discrete.ts";
import { reload, startEnv } from "../test-session.suite.ts";

/** A state that is a class instance and changes in place: the other way to write an environment. */
class Dice {
  rolls: number[] = [];
  isClosed = false;
}
const closed: Dice[] = [];
const liveDice = defineEnv({
  name: "live_dice",
  actionSpace: discrete(1),
  observationSpace: box(0, 1000, { isInteger: true }),
  reset: () => new Dice(),
  step(dice, _action, { random }) {
    dice.rolls.push(1 + random.integer(6));
    return { reward: dice.rolls.at(-1) ?? 0 };
  },
  observe: ({ rolls }) => rolls.reduce((sum, roll) => sum + roll, 0),
  snapshot: ({ rolls }) => rolls,
  restore: (rolls) => Object.assign(new Dice(), { rolls: rolls as number[] }),
  close: (dice) => {
    dice.isClosed = true;
    closed.push(dice);
  },
});

const envs = ["FrozenLake8x8-v1", "CartPole-v1", "live_dice"];
const actionOf = (name: string, step: number) => (name === "live_dice" ? 0 : step % 2);

test.each(envs)("an episode of %s continues unchanged after a restart", async (env_name) => {
  await using host = await startEnv({ envs: [liveDice] });
  const before = await host.open();
  const { episode_id } = (await before.call("reset", { env_name, seed: 9 })).obs;
  for (let step = 0; step < 4; step++) before.handle("step", { episode_id, action: actionOf(env_name, step) });

  const after = await host.open({ state: reload(before.state) });

  expect(after.handle("observe", { episode_id })).toEqual(before.handle("observe", { episode_id }));
  expect(after.handle("observe", {})).toEqual(before.handle("observe", {}));
  for (let step = 4; step < 8; step++) {
    const action = actionOf(env_name, step);
    expect(after.handle("step", { episode_id, action })).toEqual(before.handle("step", { episode_id, action }));
  }
});

test.each(envs)("a fork of %s and its parent continue independently with the same random numbers", async (env_name) => {
  await using host = await startEnv({ envs: [liveDice] });
  const parent = await host.open();
  const { episode_id } = (await parent.call("reset", { env_name, seed: 3 })).obs;
  parent.handle("step", { episode_id, action: 0 });

  const fork = await host.open({ state: parent.state.fork() });
  const before = parent.handle("observe", { episode_id });
  const forked = fork.handle("step", { episode_id, action: 0 });

  expect(parent.handle("observe", { episode_id })).toEqual(before);
  expect(parent.handle("step", { episode_id, action: 0 })).toEqual(forked);
  fork.handle("close", { episode_id });
  expect(parent.handle("observe", { episode_id }).obs.state).toEqual(forked.obs.state);
  await expect(fork.call("observe", { episode_id })).rejects.toThrow("No active episode");
});

test.each(envs)(
  "what_if returns the outcomes of steps in %s and leaves the episode unchanged bit for bit",
  async (env_name) => {
    await using host = await startEnv({ envs: [liveDice] });
    const session = await host.open({ granted: ["env", "env_push"] });
    const { episode_id } = (await session.call("reset", { env_name, seed: 11, record: true })).obs;
    session.handle("step", { episode_id, action: 0 });
    const saved = JSON.stringify([...session.state.entries()]);

    const { outcomes } = session.handle("whatIf", { episode_id, actions: [0, 0, 99] });

    expect(JSON.stringify([...session.state.entries()])).toBe(saved);
    expect(session.pushed).toEqual([]);
    expect(outcomes[0]).toEqual(outcomes[1]);
    expect(outcomes[2]).toMatchObject({ action: 99, error: { code: "unknown_action" } });
    expect(outcomes[0]?.obs).toMatchObject({ step_num: 2 });
    expect(session.handle("step", { episode_id, action: 0 }).obs).toEqual(outcomes[0]?.obs);
    if (env_name === "live_dice") expect(closed.filter(({ isClosed }) => isClosed).length).toBeGreaterThanOrEqual(3);
  },
);

test("what_if with a seed uses different random numbers", async () => {
  await using host = await startEnv({ envs: [liveDice] });
  const session = await host.open();
  session.handle("reset", { env_name: "live_dice", seed: 1 });
  const rewards = Array.from({ length: 20 }, (_, seed) => {
    return session.handle("whatIf", { actions: [0], seed }).outcomes[0]?.obs?.reward;
  });
  expect(new Set(rewards).size).toBeGreaterThan(2);
});

test.each(envs)("an episode of %s is forked, and restored to the state of its fork", async (env_name) => {
  await using host = await startEnv({ envs: [liveDice] });
  const session = await host.open();
  const { episode_id } = session.handle("reset", { env_name, seed: 11 }).obs;
  session.handle("step", { episode_id, action: 0 });

  const { obs, forked_from } = session.handle("fork", {});
  const copy = obs.episode_id;
  expect([forked_from, obs.step_num]).toEqual([episode_id, 1]);
  expect(copy).not.toBe(episode_id);
  // A request without an id still means the episode of the last reset.
  const first = session.handle("step", { action: 0 }).obs;
  expect(first.episode_id).toBe(episode_id);
  expect(session.handle("observe", { episode_id: copy }).obs.step_num).toBe(1);
  const back = session.handle("restore", { episode_id, from_episode_id: copy }).obs;
  expect({ ...back, episode_id: copy }).toEqual(session.handle("observe", { episode_id: copy }).obs);
  // The same random numbers again, in both episodes, repeatedly, and after a restart.
  const after = await host.open({ state: reload(session.state) });
  for (const at of [session, after]) {
    const { created_at: _, ...again } = at.handle("step", { episode_id, action: 0 }).obs;
    expect(first).toMatchObject(again);
    at.handle("restore", { episode_id, from_episode_id: copy });
  }
  expect(session.handle("step", { episode_id: copy, action: 0 }).obs.state).toEqual(first.state);
});

test("a fork of an episode with a seed has different random numbers, and a fork beyond the limit is denied", async () => {
  await using host = await startEnv({ envs: [liveDice], max_episodes: 30 });
  const session = await host.open();
  session.handle("reset", { env_name: "live_dice", seed: 1 });
  const rewards = Array.from({ length: 29 }, (_, seed) => {
    const { episode_id } = session.handle("fork", { seed }).obs;
    return session.handle("step", { episode_id, action: 0 }).obs.reward;
  });
  expect(new Set(rewards).size).toBeGreaterThan(2);
  await expect(session.call("fork", {})).rejects.toMatchObject({ code: "reset_denied" });
});

test("an episode is restored only to an existing episode of the same environment", async () => {
  await using host = await startEnv({ envs: [liveDice] });
  const session = await host.open();
  const { episode_id } = session.handle("reset", { env_name: "live_dice", seed: 1 }).obs;
  const other = session.handle("reset", { env_name: "counter_env" }).obs.episode_id;
  const attempt = (from_episode_id: string) => session.call("restore", { episode_id, from_episode_id });
  await expect(attempt(other)).rejects.toMatchObject({
    code: "reset_denied",
    message: expect.stringContaining("counter_env"),
  });
  await expect(attempt("nothing")).rejects.toThrow("No active episode");
  expect(session.handle("restore", { episode_id, from_episode_id: episode_id }).obs.step_num).toBe(0);
});

/** A slow environment: when a step begins to wait, it has changed half of its state. */
const gates: (() => void)[] = [];
const gated = defineEnv({
  name: "gated",
  actionSpace: discrete(1),
  observationSpace: box(0, 1000, { isInteger: true }),
  reset: () => ({ begun: 0, ended: 0 }),
  async step(state) {
    state.begun += 1;
    await new Promise<void>((resolve) => gates.push(resolve));
    state.ended += 1;
    return {};
  },
  observe: ({ begun, ended }) => begun * 10 + ended,
  snapshot: (state) => state,
  restore: async (saved) => saved as { begun: number; ended: number },
});
const passGates = () => {
  for (const pass of gates.splice(0)) pass();
};

test("a restore waits for the running step of the source episode", async () => {
  await using host = await startEnv({ envs: [gated] });
  const session = await host.open();
  const { episode_id } = (await session.call("reset", { env_name: "gated" })).obs;
  const from_episode_id = (await session.call("fork", {})).obs.episode_id;
  const step = session.call("step", { episode_id: from_episode_id, action: 0 });
  const restored = session.call("restore", { episode_id, from_episode_id });
  passGates();
  await step;

  expect((await restored).obs).toMatchObject({ step_num: 1, state: { value: 11 } });
});

test("of two concurrent restores of an episode the last one counts, in memory and in the saved state", async () => {
  await using host = await startEnv({ envs: [gated] });
  const session = await host.open();
  const { episode_id } = (await session.call("reset", { env_name: "gated" })).obs;
  const from_episode_id = (await session.call("fork", {})).obs.episode_id;
  const [first, second] = [1, 2].map(() => session.call("restore", { episode_id, from_episode_id }));
  await first;
  const step = session.call("step", { episode_id, action: 0 });
  await second;
  passGates();
  await step;

  expect((await session.call("observe", { episode_id })).obs.step_num).toBe(0);
  const after = await host.open({ state: reload(session.state) });
  expect((await after.call("observe", { episode_id })).obs.step_num).toBe(0);
});

test("an environment that changes a plain state in place is saved and forked", async () => {
  const inPlace = defineEnv({
    name: "in_place",
    actionSpace: discrete(2),
    observationSpace: box(0, 100, { isInteger: true }),
    reset: () => ({ count: 0 }),
    step(state) {
      state.count += 1;
      return {};
    },
    observe: ({ count }) => count,
  });
  await using host = await startEnv({ envs: [inPlace] });
  const parent = await host.open();
  const { episode_id } = (await parent.call("reset", { env_name: "in_place" })).obs;
  parent.handle("whatIf", { episode_id, actions: [0, 1] });
  parent.handle("step", { episode_id, action: 0 });
  const fork = await host.open({ state: parent.state.fork() });
  fork.handle("step", { episode_id, action: 0 });
  fork.handle("step", { episode_id, action: 0 });

  expect(parent.handle("observe", { episode_id }).obs.state).toEqual({ value: 1 });
  expect(fork.handle("observe", { episode_id }).obs.state).toEqual({ value: 3 });
});

test("a batch steps many episodes, each with its own result or error", async () => {
  await using host = await startEnv();
  const session = await host.open();
  const ids = [1, 2, 3].map(() => session.handle("reset", { env_name: "counter_env" }).obs.episode_id);
  const inc: JsonValue = { type: "inc" };

  const { results } = session.handle("batchStep", {
    episode_ids: [...ids, "nobody", ids[0] ?? ""],
    actions: [inc, { type: "fly" }, "dec", inc, inc],
  });

  expect(results.map(({ obs, error }) => error?.code ?? obs.state)).toEqual([
    { count: 1 },
    "unknown_action",
    { count: -1 },
    "runtime_error",
    { count: 2 },
  ]);
  expect(results[1]?.obs).toMatchObject({ episode_id: ids[1], step_num: 0, state: { count: 0 } });
  expect(results[3]?.error?.message).toContain("No active episode");
});

test("a batch for one episode takes its actions in order until the episode ends", async () => {
  await using host = await startEnv();
  const session = await host.open();
  const { episode_id } = session.handle("reset", { env_name: "counter_env" }).obs;
  const nine = { type: "inc", amount: 9 };

  const { results } = session.handle("batchStep", { episode_id, actions: [nine, "inc", "inc"] });

  expect(results.map(({ obs, error }) => [obs.step_num, obs.done, error?.code])).toEqual([
    [1, false, undefined],
    [2, true, undefined],
    [2, true, "runtime_error"],
  ]);
});

test("each step of a batch has its own observation, even if the environment reuses its objects", async () => {
  const info = { laps: 0 };
  const inPlace = defineEnv({
    name: "in_place",
    actionSpace: discrete(1),
    observationSpace: dict({ track: box(0, 9, { shape: [1] }) }),
    reset: () => ({ track: [0] }),
    step({ track }) {
      track[0] = (track[0] ?? 0) + 1;
      info.laps = track[0];
      return { info, done: track[0] === 2 };
    },
  });
  await using host = await startEnv({ envs: [inPlace] });
  const session = await host.open();
  session.handle("reset", { env_name: "in_place" });

  const { results } = session.handle("batchStep", { actions: [0, 0, "fly", 0], autoreset: "same_step" });

  expect(results.map(({ obs }) => [obs.state, obs.metadata?.laps, obs.metadata?.final_observation])).toEqual([
    [{ track: [1] }, 1, undefined],
    [{ track: [0] }, 2, { track: [2] }],
    [{ track: [0] }, undefined, undefined],
    [{ track: [1] }, 1, undefined],
  ]);
});

test("a batch with lists of different lengths, or with too many actions, is rejected as a whole", async () => {
  await using host = await startEnv({ max_batch: 3 });
  const session = await host.open();
  await expect(session.call("batchStep", { episode_ids: ["a", "b"], actions: [1] })).rejects.toMatchObject({
    code: "schema_violation",
  });
  await expect(session.call("batchStep", { episode_id: "a", actions: [1, 1, 1, 1] })).rejects.toMatchObject({
    code: "schema_violation",
    detail: { limit: "max_batch" },
  });
  await expect(session.call("whatIf", { actions: new Array(257).fill(1) })).rejects.toMatchObject({
    detail: { limit: "maxWhatIf" },
  });
});

test("autoreset next_step starts over in the step after the end and ignores its action", async () => {
  await using host = await startEnv({ autoreset: "next_step" });
  const session = await host.open();
  const { episode_id } = session.handle("reset", { env_name: "counter_env" }).obs;
  const ten = { type: "inc", amount: 10 };

  const { results } = session.handle("batchStep", { episode_id, actions: [ten, "nonsense", "inc"] });

  expect(results.map(({ obs }) => [obs.step_num, obs.state.count, obs.done, obs.reward])).toEqual([
    [1, 10, true, 1],
    [0, 0, false, 0],
    [1, 1, false, 1],
  ]);
  expect(results[1]?.obs.metadata).toEqual({ autoreset: true });
});

test("autoreset same_step returns the first observation of the new round with the last reward, and the last observation in its metadata", async () => {
  await using host = await startEnv();
  const session = await host.open();
  const { episode_id } = session.handle("reset", { env_name: "counter_env" }).obs;
  const ten = { type: "inc", amount: 10 };

  const { results } = session.handle("batchStep", { episode_id, actions: [ten, "inc"], autoreset: "same_step" });

  expect(results[0]?.obs).toMatchObject({ step_num: 0, state: { count: 0 }, done: true, reward: 1 });
  expect(results[0]?.obs.metadata).toEqual({ autoreset: true, final_observation: { count: 10 }, final_step_num: 1 });
  expect(results[1]?.obs).toMatchObject({ step_num: 1, state: { count: 1 }, done: false });
});

test("each round starts with the options of the reset, even if the environment changes them", async () => {
  const sand = defineEnv({
    name: "sand",
    actionSpace: discrete(1),
    observationSpace: box(0, 9, { shape: [1] }),
    reset: ({ options }) => options.glass as number[],
    step(glass) {
      glass[0] = (glass[0] ?? 0) - 1;
      return { done: glass[0] === 0 };
    },
  });
  await using host = await startEnv({ envs: [sand] });
  const session = await host.open();
  session.handle("reset", { env_name: "sand", options: { glass: [2] } });

  const { results } = session.handle("batchStep", { actions: [0, 0, 0, 0], autoreset: "same_step" });

  expect(results.map(({ obs }) => obs.state.value)).toEqual([[1], [2], [1], [2]]);
});

test("a single step uses the autoreset mode that env/space reports", async () => {
  await using host = await startEnv({ autoreset: "same_step" });
  const session = await host.open();
  session.handle("reset", { env_name: "counter_env" });
  expect(session.handle("space", { env_name: "counter_env" }).autoreset.mode).toBe("same_step");

  const last = session.handle("step", { action: { type: "inc", amount: 10 } });

  expect(last.obs).toMatchObject({ step_num: 0, state: { count: 0 }, done: true, reward: 1 });
  expect(session.handle("step", { action: "inc" }).obs).toMatchObject({
    step_num: 1,
    state: { count: 1 },
    done: false,
  });
});

test("a last step whose autoreset fails is answered as the end, and the next step starts over", async () => {
  let isOpen = true;
  const shop = defineEnv({
    name: "shop",
    actionSpace: discrete(1),
    observationSpace: discrete(10),
    reset() {
      if (!isOpen) throw new Error("it is closed today");
      return 0;
    },
    step: (state) => ({ state: state + 1, reward: 1, done: true }),
  });
  await using host = await startEnv({ envs: [shop], record_experiences: true });
  const session = await host.open();
  session.handle("reset", { env_name: "shop" });
  const steps = (count: number) =>
    session.handle("batchStep", { actions: new Array(count).fill(0), autoreset: "same_step" }).results;

  isOpen = false;
  const [last, closed] = steps(2);
  isOpen = true;
  const [first, next] = steps(2);

  expect(last).toMatchObject({ obs: { step_num: 1, state: { value: 1 }, done: true, reward: 1, metadata: {} } });
  expect(last?.error).toBeUndefined();
  expect(closed?.error?.message).toContain("it is closed today");
  expect(first?.obs).toMatchObject({ step_num: 0, state: { value: 0 }, done: false, metadata: { autoreset: true } });
  expect(next?.obs).toMatchObject({ done: true, metadata: { final_observation: { value: 1 } } });
  expect(session.handle("listExperiences", {}).total).toBe(2);
});

test("one seed reproduces all rounds after autoresets", async () => {
  await using host = await startEnv();
  const play = async () => {
    const session = await host.open();
    const { episode_id } = session.handle("reset", { env_name: "FrozenLake-v1", seed: 5 }).obs;
    const actions = Array.from({ length: 200 }, (_, step) => (step * 3) % 4);
    const { results } = session.handle("batchStep", { episode_id, actions, autoreset: "same_step" });
    return results.map(({ obs }) => [obs.state, obs.reward, obs.done]);
  };
  const first = await play();
  expect(first.filter(([, , done]) => done).length).toBeGreaterThan(2);
  expect(await play()).toEqual(first);
});

test("steps are recorded on request, listed, exported in pages, and survive a restart and a fork", async () => {
  await using host = await startEnv();
  const session = await host.open();
  const silent = session.handle("reset", { env_name: "counter_env" }).obs.episode_id;
  const { episode_id } = session.handle("reset", { env_name: "counter_env", record: true }).obs;
  session.handle("step", { episode_id: silent, action: "inc" });
  for (let step = 0; step < 70; step++) session.handle("step", { episode_id, action: step % 2 === 0 ? "inc" : "dec" });
  session.handle("reward", { episode_id, reward: 0.5 });
  session.handle("reward", { episode_id, step_num: 69, reward: -1 });

  for (const reader of [
    session,
    await host.open({ state: reload(session.state) }),
    await host.open({ state: session.state.fork() }),
  ]) {
    const { episodes, total } = reader.handle("listExperiences", { limit: 2 });
    expect(total).toBe(70);
    expect(episodes).toMatchObject([
      {
        episode_id,
        step_num: 69,
        state: { count: 0 },
        action: { type: "inc" },
        reward: 1,
        next_state: { count: 1 },
        feedback: [-1],
      },
      { step_num: 70, state: { count: 1 }, next_state: { count: 0 }, done: false, truncated: false, feedback: [0.5] },
    ]);
    const lines: string[] = [];
    for (let cursor: number | null = 0; cursor !== null; ) {
      const page = reader.handle("exportExperiences", { cursor, limit: 32 }) as {
        ndjson: string;
        next_cursor: number | null;
      };
      lines.push(...page.ndjson.trimEnd().split("\n"));
      cursor = page.next_cursor;
    }
    expect(lines.map((line) => (JSON.parse(line) as { step_num: number }).step_num)).toEqual(
      Array.from({ length: 70 }, (_, step) => step + 1),
    );
    reader.handle("step", { episode_id, action: "inc" });
    expect(reader.handle("listExperiences", {}).total).toBe(71);
  }
});

test("the oldest experiences are dropped at the limit", async () => {
  await using host = await startEnv({ record_experiences: true, max_experiences: 50 });
  const session = await host.open();
  const { episode_id } = session.handle("reset", { env_name: "counter_env" }).obs;
  for (let step = 0; step < 500; step++) session.handle("step", { episode_id, action: step % 2 === 0 ? "inc" : "dec" });

  const { episodes, total } = session.handle("listExperiences", { limit: 1000 });

  expect([total, episodes?.[0]?.step_num, episodes?.at(-1)?.step_num]).toEqual([50, 451, 500]);
  const kept = [...session.state.entries()].filter(([key]) => key.startsWith("local:experience/"));
  expect(kept.length).toBeLessThanOrEqual(4);
});
