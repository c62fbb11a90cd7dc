import { expect, test } from "vitest";
import { A2EClientError } from "../../client/errors.ts";
import { decodeAsSdk } from "../../conformance/sdk-decoder.ts";
import type { JsonValue } from "../../protocol/json.ts";
import { startHost } from "../../testing/start-host.ts";
import { defineEnv } from "./define-env.ts";
import { createPlugin, envPlugin } from "./plugin.ts";
import { discrete } from "./spaces/discrete.ts";
import { startEnv } from "./test-session.suite.ts";

const inc = { type: "inc" };

async function codeOf(call: Promise<unknown>): Promise<unknown> {
  const error = await call.then(
    () => "no error",
    (cause: unknown) => cause,
  );
  expect(error).toBeInstanceOf(A2EClientError);
  return (error as A2EClientError).code;
}

test("a reset starts at step 0 and steps count from there until the episode is done", async () => {
  await using testHost = await startHost(envPlugin());
  const { env } = testHost.client;

  const { obs: first } = await env.reset({ env_name: "counter_env", seed: 7 });
  expect(first).toMatchObject({ step_num: 0, done: false, truncated: false, reward: 0, state: { count: 0 } });
  expect(first.metadata).toMatchObject({ env_name: "counter_env", seed: 7 });

  const { episode_id } = first;
  expect((await env.step({ episode_id, action: inc })).obs).toMatchObject({
    step_num: 1,
    reward: 1,
    state: { count: 1 },
  });
  const last = await env.step({ episode_id, action: { action_type: "inc", payload: { amount: 9 }, metadata: {} } });
  expect(last.obs).toMatchObject({ step_num: 2, done: true, truncated: false, state: { count: 10 } });

  const error = await env.step({ episode_id, action: inc }).catch((cause: unknown) => cause);
  expect(error).toMatchObject({ code: "runtime_error", retryable: false });
  expect((error as Error).message).toContain("Episode already completed");
  expect((await env.observe({ episode_id })).obs).toMatchObject({ step_num: 2, done: true });
});

test("without a reset, and after a close, there is no active episode", async () => {
  await using testHost = await startHost(envPlugin());
  const { env } = testHost.client;

  for (const call of [env.step({ action: inc }), env.observe(), env.render({ mode: "text" }), env.plan()])
    await expect(call).rejects.toThrow("No active episode");
  expect(await env.close()).toEqual({ closed: true });

  const { obs } = await env.reset({ env_name: "counter_env" });
  expect(await env.close({ episode_id: obs.episode_id })).toEqual({ closed: true });
  await expect(env.step({ episode_id: obs.episode_id, action: inc })).rejects.toThrow("No active episode");
  await expect(env.observe()).rejects.toThrow("No active episode");
});

test("episodes of a session run side by side, and a request without an id means the last reset", async () => {
  await using testHost = await startHost(envPlugin());
  const { env } = testHost.client;
  const first = (await env.reset({ env_name: "counter_env" })).obs.episode_id;
  const second = (await env.reset({ env_name: "CartPole-v1" })).obs.episode_id;

  await env.step({ episode_id: first, action: inc });
  await env.step({ action: 1 });

  expect(first).not.toBe(second);
  expect((await env.observe({ episode_id: first })).obs.state).toEqual({ count: 1 });
  expect((await env.observe()).obs).toMatchObject({ episode_id: second, step_num: 1 });
});

test("two sessions cannot see each other's episodes", async () => {
  await using testHost = await startHost(envPlugin());
  const stranger = await testHost.connect();
  const { episode_id } = (await testHost.client.env.reset({ env_name: "counter_env", record: true })).obs;
  await testHost.client.env.step({ episode_id, action: inc });

  for (const attempt of [
    stranger.env.observe({ episode_id }),
    stranger.env.step({ episode_id, action: inc }),
    stranger.env.render({ episode_id }),
    stranger.env.whatIf({ episode_id, actions: [inc] }),
    stranger.env.reward({ episode_id, reward: 1 }),
  ])
    expect(await codeOf(attempt)).toBe("runtime_error");
  expect(await stranger.env.listExperiences({ episode_id })).toMatchObject({ episodes: [], total: 0 });
  await stranger.env.close({ episode_id });

  expect((await testHost.client.env.observe({ episode_id })).obs.state).toEqual({ count: 1 });
});

test("a seed reproduces an episode bit for bit, and a drawn seed is returned", async () => {
  await using testHost = await startHost(envPlugin());
  const { env } = testHost.client;
  const play = async (seed: number | null) => {
    const { obs } = await env.reset({ env_name: "FrozenLake8x8-v1", seed });
    const states: JsonValue[] = [];
    for (let step = 0; step < 20; step++) {
      const next = await env.step({ episode_id: obs.episode_id, action: (step * 7) % 4 }).catch(() => undefined);
      states.push(next?.obs.state ?? null);
    }
    return { seed: Number(obs.metadata.seed), states };
  };

  const drawn = await play(null);
  expect((await play(drawn.seed)).states).toEqual(drawn.states);
  const runs = await Promise.all([1, 2, 3, 4].map(play));
  expect(new Set(runs.map(({ states }) => JSON.stringify(states))).size).toBeGreaterThan(1);
  const start = async (seed: number) => (await env.reset({ env_name: "CartPole-v1", seed })).obs.state;
  expect(await start(5)).toEqual(await start(5));
  expect(await start(5)).not.toEqual(await start(6));
});

test("an action outside the space is rejected with the allowed actions, and the episode stays unchanged", async () => {
  await using testHost = await startHost(envPlugin());
  const { env } = testHost.client;
  await env.reset({ env_name: "CartPole-v1" });

  for (const action of [2, -1, 0.5, "left", { value: 7 }, {}, null, [0]] satisfies JsonValue[]) {
    const error = await env.step({ action }).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: "unknown_action", detail: { allowed: { type: "discrete", n: 2, start: 0 } } });
  }
  expect((await env.observe()).obs.step_num).toBe(0);
});

test.each<[string, JsonValue, JsonValue]>([
  ["CartPole-v1", 1, 1],
  ["CartPole-v1", { value: 1 }, 1],
  ["CartPole-v1", { action_type: "push", payload: { direction: 1 } }, 1],
  ["CartPole-v1", { type: "push", payload: { value: 0 } }, 0],
  ["counter_env", "inc", { type: "inc" }],
  ["counter_env", { action_type: "dec", payload: { amount: 2 } }, { type: "dec", amount: 2 }],
  ["counter_env", { type: "inc", amount: 3 }, { type: "inc", amount: 3 }],
  ["counter_env", { action_type: "inc", payload: { type: "dec" } }, { type: "inc" }],
  ["text_adventure", { action_type: "go", payload: { direction: "north" } }, "go north"],
  ["text_adventure", { type: "look" }, "look"],
])("an action of %s may be spelled %j", async (env_name, action, meant) => {
  await using testHost = await startHost(envPlugin());
  const { env } = testHost.client;
  await env.reset({ env_name, record: true });

  await env.step({ action });

  expect((await env.listExperiences()).episodes[0]?.action).toEqual(meant);
});

test("the step limit truncates an episode and does not set done", async () => {
  await using testHost = await startHost(envPlugin({ max_steps: 3 }));
  const { env } = testHost.client;
  await env.reset({ env_name: "counter_env" });
  await env.step({ action: "dec" });
  await env.step({ action: "dec" });

  expect((await env.step({ action: "dec" })).obs).toMatchObject({ step_num: 3, done: false, truncated: true });
  await expect(env.step({ action: "dec" })).rejects.toThrow("Episode already completed");
});

test("an unknown environment is answered with the available ones, and invalid options with reset_denied", async () => {
  await using testHost = await startHost(envPlugin());
  const { env } = testHost.client;

  await expect(env.reset({ env_name: "CartPol-v1" })).rejects.toMatchObject({
    code: "unknown_env",
    message: expect.stringContaining('did you mean "CartPole-v1"?'),
    detail: { available: expect.arrayContaining(["counter_env", "text_adventure"]) },
  });
  for (const [env_name, options] of [
    ["CartPole-v1", { state: [1, 2, 3] }],
    ["CartPole-v1", { low: 1, high: 0 }],
    ["CartPole-v1", { state: [5, 0, 0, 0] }],
    ["CartPole-v1", { state: [0, 1e300, 0, 0] }],
    ["CartPole-v1", { low: 1000, high: 2000 }],
    ["FrozenLake-v1", { state: 16 }],
    ["FrozenLake-v1", { is_slippery: "no" }],
    ["counter_env", { count: 10 }],
  ] as const)
    expect(await codeOf(env.reset({ env_name, options: options as never }))).toBe("reset_denied");
});

test("too many episodes are denied, completed ones are replaced, and with close_oldest the oldest is closed", async () => {
  await using denying = await startHost(envPlugin({ max_episodes: 2 }));
  const { env } = denying.client;
  const first = (await env.reset()).obs.episode_id;
  await env.reset();
  expect(await codeOf(env.reset())).toBe("reset_denied");
  await env.step({ episode_id: first, action: { type: "inc", amount: 10 } });
  await env.reset();
  await expect(env.observe({ episode_id: first })).rejects.toThrow("No active episode");

  await using closing = await startHost(envPlugin({ max_episodes: 1, when_full: "close_oldest" }));
  const previous = (await closing.client.env.reset()).obs.episode_id;
  await closing.client.env.reset();
  await expect(closing.client.env.observe({ episode_id: previous })).rejects.toThrow("No active episode");
});

test("spaces are returned as JSON Schema with the space itself, under the type that the request used", async () => {
  await using testHost = await startHost(envPlugin());
  const { env } = testHost.client;

  const cartPole = await env.space({ env_name: "CartPole-v1" });
  expect(cartPole.action_space).toMatchObject({ type: "integer", maximum: 1, "x-space": { type: "discrete", n: 2 } });
  expect(cartPole.state_schema).toMatchObject({ type: "object", properties: { value: { type: "array" } } });
  expect(cartPole).toMatchObject({ max_steps: 500, autoreset: { mode: "disabled" } });
  expect(cartPole.environments.map(({ name }) => name)).toContain("FrozenLake-v1");
  expect((await env.space()).env_name).toBe("counter_env");
  expect(await codeOf(env.space({ env_name: "no such" }))).toBe("unknown_env");
});

test("every environment renders text and JSON, an image if it has one, and null for other modes", async () => {
  await using testHost = await startHost(envPlugin());
  const { env } = testHost.client;
  for (const { name } of (await env.space()).environments) {
    await env.reset({ env_name: name, seed: 1 });
    expect((await env.render({ mode: "text" })).render).toEqual(expect.any(String));
    expect((await env.render({ mode: "json" })).render).toEqual((await env.observe()).obs.state);
    expect((await env.render({ mode: "hologram" })).render).toBeNull();
    const image = (await env.render()).render;
    if (name === "counter_env") expect(image).toBeNull();
    else expect(Buffer.from(String(image).split(",")[1] ?? "", "base64").toString()).toMatch(/^<svg .*<\/svg>$/s);
  }
  await env.reset({ env_name: "counter_env", options: { count: 3 } });
  expect((await env.render({ mode: "text" })).render).toContain("3");
});

test("the actions that counter_env suggests are possible in every state", async () => {
  await using testHost = await startHost(envPlugin());
  const { env } = testHost.client;
  await env.reset({ env_name: "counter_env", options: { count: -5000 } });

  for (const action of (await env.plan()).suggested_actions) await env.step({ action });

  expect((await env.observe()).obs.state).toEqual({ count: -4000 });
});

test("an error of an environment is answered with runtime_error and its message", async () => {
  const fragile = defineEnv({
    name: "fragile",
    actionSpace: discrete(2),
    observationSpace: discrete(1),
    reset: ({ options }) => {
      if (options.fail === true) throw new Error("no power");
      return 0;
    },
    step: (_state, action) => (action === 0 ? Promise.reject(new Error("it broke")) : { reward: Number.NaN }),
  });
  await using testHost = await startHost(envPlugin({ envs: [fragile] }));
  const { env } = testHost.client;

  await expect(env.reset({ options: { fail: true } })).rejects.toMatchObject({
    code: "runtime_error",
    message: expect.stringContaining("no power"),
  });
  await env.reset();
  await expect(env.step({ action: 0 })).rejects.toThrow("it broke");
  expect((await env.step({ action: 1 })).obs).toMatchObject({ step_num: 1, reward: null });
});

test("a state that is not JSON, or whose observation is not in the space, fails at the first reset", async () => {
  const spaces = { actionSpace: discrete(1), observationSpace: discrete(1) };
  const live = defineEnv({ name: "live", ...spaces, reset: () => new Map(), step: () => ({}), observe: () => 0 });
  const wrong = defineEnv({ name: "wrong", ...spaces, reset: () => 0, step: () => ({}), observe: () => 1 });
  await using testHost = await startHost(envPlugin({ envs: [live, wrong] }));
  const { env } = testHost.client;

  await expect(env.reset({ env_name: "live" })).rejects.toThrow("give it snapshot and restore");
  await expect(env.reset({ env_name: "wrong" })).rejects.toThrow("observation space");
});

test("steps of a slow environment run one after the other", async () => {
  const slow = defineEnv({
    name: "slow",
    actionSpace: discrete(10),
    observationSpace: discrete(1000),
    reset: () => 0,
    async step(state, action) {
      await new Promise((resolve) => setImmediate(resolve));
      return { state: state * 10 + action };
    },
  });
  await using testHost = await startHost(envPlugin({ envs: [slow] }));
  const { env } = testHost.client;
  await env.reset();

  const steps = await Promise.all([1, 2, 3].map((action) => env.step({ action })));

  expect(steps.map(({ obs }) => obs.state)).toEqual([{ value: 1 }, { value: 12 }, { value: 123 }]);
});

test("every message of env passes the decoder of the SDK and has the mirrored fields of the documentation", async () => {
  await using testHost = await startHost({ plugins: [envPlugin()], client: { capabilities: ["env", "env_push"] } });
  const { env } = testHost.client;
  const { episode_id } = (await env.reset({ env_name: "CartPole-v1", seed: 1, record: true })).obs;
  await env.step({ episode_id, action: { value: 1 } });
  await env.observe({ episode_id });
  await env.batchStep({ episode_ids: [episode_id, "none"], actions: [0, 0] });
  await env.space({ env_name: "CartPole-v1" });
  await env.plan({ episode_id });
  await env.render({ episode_id });
  await env.listExperiences();
  await env.close({ episode_id });

  const lines = testHost.wire
    .filter(({ direction, message }) => direction === "received" && message.type.startsWith("env/"))
    .map(({ message }) => message);
  expect(lines).toHaveLength(9);
  for (const line of lines) {
    expect(decodeAsSdk(JSON.stringify(line)).kind, JSON.stringify(line)).not.toBe("refused");
    if (line.type !== "env/state/push") expect(line.req_id, line.type).toEqual(expect.any(String));
  }
  const step = lines.find(({ type }) => type === "env/step/resp");
  expect(step).toMatchObject({ episode_id, reward: 1, done: false, truncated: false });
  expect(step?.obs).toMatchObject({ state: step?.observation });
});

test("events are pushed to agents that asked for env_push, and to no other agent", async () => {
  const chatty = defineEnv({
    name: "chatty",
    actionSpace: discrete(2),
    observationSpace: discrete(1),
    reset: () => 0,
    step(_state, action, { push }) {
      push({ event_type: "status", reason: "oom_warning", delta: { free: 1 } });
      return { done: action === 1, reward: 2 };
    },
  });
  await using host = await startEnv({ envs: [chatty] });
  const listener = await host.open({ granted: ["env", "env_push"] });
  const other = await host.open();
  for (const session of [listener, other]) {
    await session.call("reset", { env_name: "chatty" });
    await session.call("step", { action: 1 });
  }

  expect(other.pushed).toEqual([]);
  expect(listener.pushed).toMatchObject([
    { event_type: "status", reason: "oom_warning", step_id: 0, delta: { free: 1 }, state_delta: { free: 1 } },
    { event_type: "termination", reason: "done", step_id: 1, reward: 2, terminal: true, delta: { value: 0 } },
  ]);
});

test("env_push is negotiated in the handshake", async () => {
  await using testHost = await startHost({ plugins: [envPlugin()], client: { capabilities: ["env", "env_push"] } });
  const pushed: unknown[] = [];
  testHost.client.onPush("env/state/push", ({ event_type, terminal }) => pushed.push({ event_type, terminal }));
  await testHost.client.env.reset();
  await testHost.client.env.step({ action: { type: "inc", amount: 10 } });

  expect(testHost.client.has("env_push")).toBe(true);
  expect(pushed).toEqual([{ event_type: "termination", terminal: true }]);
  const plain = await testHost.connect({ capabilities: ["env"] });
  plain.onPush("env/state/push", () => pushed.push("unasked"));
  await plain.env.reset();
  await plain.env.step({ action: { type: "inc", amount: 10 } });
  expect(pushed).toHaveLength(1);
});

test("options are checked, each problem by its name", () => {
  expect(() => createPlugin({ max_episode: 3 })).toThrow('did you mean "max_episodes"?');
  expect(() => createPlugin({ builtin: ["Pong"] })).toThrow("options of the env plugin has a problem");
  expect(() => createPlugin({ autoreset: "always" })).toThrow("autoreset");
});

test("a host with two environments of the same name, or with an unknown default, does not start", async () => {
  const twin = defineEnv({
    name: "counter_env",
    actionSpace: discrete(1),
    observationSpace: discrete(1),
    reset: () => 0,
    step: () => ({}),
  });
  await expect(startEnv({ envs: [twin] })).rejects.toThrow('two environments are called "counter_env"');
  await expect(startEnv({ default_env: "Pong" })).rejects.toThrow('there is no environment "Pong"');
  await expect(startEnv({ modules: ["./nowhere.mjs"] })).rejects.toThrow("nowhere.mjs");
});
