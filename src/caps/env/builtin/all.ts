// The environments that every host can serve.
import type { Environment } from "../define-env.ts";
import { cartPole } from "./cartpole.ts";
import { counter } from "./counter.ts";
import { frozenLake, frozenLake8x8 } from "./frozen-lake.ts";
import { textAdventure } from "./text-adventure.ts";

export const builtinNames = [
  "counter_env",
  "CartPole-v1",
  "FrozenLake-v1",
  "FrozenLake8x8-v1",
  "text_adventure",
] as const;

export const builtinEnvs: Readonly<Record<(typeof builtinNames)[number], Environment>> = {
  counter_env: counter,
  "CartPole-v1": cartPole,
  "FrozenLake-v1": frozenLake,
  "FrozenLake8x8-v1": frozenLake8x8,
  text_adventure: textAdventure,
};
