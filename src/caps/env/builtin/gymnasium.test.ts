// Compares every number with recordings of Gymnasium 1.3.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Environment } from "../define-env.ts";
import { SeededRandom } from "../random.ts";
import { cartPole } from "./cartpole.ts";
import { frozenLake, frozenLake8x8, type LakeMap, lakeTransitions } from "./frozen-lake.ts";

interface Trajectory {
  initial_observation: unknown;
  initial_state?: number[];
  steps: {
    action: number;
    observation: unknown;
    reward: number;
    terminated: boolean;
    truncated: boolean;
    state?: number[];
  }[];
}

function readFixture<Content>(name: string): Content {
  return JSON.parse(readFileSync(new URL(`../fixtures/${name}`, import.meta.url), "utf8")) as Content;
}

const trajectoriesOf = (name: string) => readFixture<{ trajectories: Trajectory[] }>(name).trajectories;

const { signal } = new AbortController();
const context = { random: new SeededRandom(0), dataDir: "", signal, push() {} };

function reset(environment: Environment, options: object): unknown {
  return environment.reset({ ...context, seed: 0, options: options as never });
}

test("CartPole repeats the recorded states, observations, rewards and ends bit for bit", () => {
  for (const { initial_state, initial_observation, steps } of trajectoriesOf("cartpole.json")) {
    let state = reset(cartPole, { state: initial_state });
    expect(cartPole.observe?.(state)).toEqual(initial_observation);
    for (const recorded of steps) {
      const result = cartPole.step(state, recorded.action, context);
      if (result instanceof Promise || result.state === undefined) throw new Error("CartPole answers at once");
      state = result.state;
      expect(result).toMatchObject({ reward: recorded.reward, done: recorded.terminated });
      expect(state).toEqual(recorded.state);
      expect(cartPole.observe?.(state)).toEqual(recorded.observation);
    }
  }
});

test.each([
  ["frozenlake-4x4-deterministic.json", frozenLake],
  ["frozenlake-8x8-deterministic.json", frozenLake8x8],
])("FrozenLake repeats %s", (name, lake) => {
  for (const { initial_observation, steps } of trajectoriesOf(name)) {
    let state = reset(lake, { is_slippery: false });
    expect(lake.observe?.(state)).toBe(initial_observation);
    for (const { action, observation, reward, terminated } of steps) {
      const result = lake.step(state, action, context);
      if (result instanceof Promise || result.state === undefined) throw new Error("FrozenLake answers at once");
      state = result.state;
      expect([lake.observe?.(state), result.reward, result.done]).toEqual([observation, reward, terminated]);
    }
  }
});

test.each<LakeMap>(["4x4", "8x8"])("the transition table of the slippery lake %s is the recorded one", (map) => {
  const { P } = readFixture<{ P: Record<string, Record<string, [number, number, number, boolean][]>> }>(
    `frozenlake-${map}-slippery-transitions.json`,
  );
  const ours = lakeTransitions(map, true).map((actions) =>
    actions.map((outcomes) => outcomes.map(({ probability, next, reward, done }) => [probability, next, reward, done])),
  );
  expect(ours).toEqual(Object.values(P).map((actions) => Object.values(actions)));
});

test("the slippery lake slips as often as its table says", () => {
  const random = new SeededRandom(1);
  const counts = new Map<unknown, number>();
  for (let draw = 0; draw < 3000; draw++) {
    const result = frozenLake.step({ square: 9, isSlippery: true }, 2, { ...context, random });
    if (result instanceof Promise) throw new Error("FrozenLake answers at once");
    const square = frozenLake.observe?.(result.state);
    counts.set(square, (counts.get(square) ?? 0) + 1);
  }
  expect([...counts.keys()].sort()).toEqual([10, 13, 5]);
  for (const count of counts.values()) expect(count / 3000).toBeCloseTo(1 / 3, 1);
});
