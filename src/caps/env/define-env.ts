// The API for environment authors: one object per environment, whose types are inferred from its spaces.
import type { Awaitable } from "../../protocol/awaitable.ts";
import type { JsonObject, JsonValue } from "../../protocol/json.ts";
import type { SeededRandom } from "./random.ts";
import type { Space } from "./spaces/space.ts";

/** An event of an environment, pushed to agents that negotiated `env_push`. */
export interface EnvEvent {
  event_type: string;
  reason?: string;
  /** The fields that changed, and only those. */
  delta?: JsonObject;
  reward?: number;
  reward_info?: JsonObject;
  /** The event ends the episode for agents that listen to pushes. */
  terminal?: boolean;
}

/** Passed to every function of an environment; the same object for the whole life of an episode. */
export interface EnvContext {
  /**
   * The only source of randomness. Its state is saved with the episode, so a seed, a restore and a fork reproduce it.
   */
  readonly random: SeededRandom;
  /** The folder of `env/data` of this episode's session. It may not exist yet. */
  readonly dataDir: string;
  /** Aborted when the caller no longer waits. A function that then rejects leaves the episode unchanged. */
  readonly signal: AbortSignal;
  /** Pushes an event to the agent. Allowed at any time until the episode is closed. */
  push(event: EnvEvent): void;
}

export interface ResetContext extends EnvContext {
  readonly seed: number;
  /** The `options` that the agent sent. Throw `resetDenied` if they are not valid. */
  readonly options: JsonObject;
}

export interface StepResult<State> {
  /** Left out if the step changed the state in place. */
  state?: State;
  reward?: number;
  /** The episode reached its natural end. */
  done?: boolean;
  /** The episode was cut short for a reason outside of it. The host adds the step limit itself. */
  truncated?: boolean;
  info?: JsonObject;
}

export interface EnvSpec<State, Action, Observation> {
  readonly name: string;
  readonly description?: string;
  readonly actionSpace: Space<Action>;
  readonly observationSpace: Space<Observation>;
  /** Steps after which an episode is truncated. */
  readonly maxSteps?: number;
  reset(context: ResetContext): Awaitable<State>;
  /** Called only with actions of the action space. */
  step(state: State, action: NoInfer<Action>, context: EnvContext): Awaitable<StepResult<State>>;
  /** The part of the state that the agent sees; by default all of it. */
  observe?(state: State): NoInfer<Observation>;
  /**
   * `text`, `json`, `image` (SVG or a data URL) or a custom mode. Returns undefined for a mode that it does not
   * support.
   */
  render?(state: State, mode: string): Awaitable<JsonValue | undefined>;
  /** Actions that are useful in this state, best first. */
  plan?(state: State): Awaitable<readonly NoInfer<Action>[]>;
  /** Needed if the state is not JSON: returns the JSON to save. */
  snapshot?(state: State): JsonValue;
  /** Builds the state from the JSON that `snapshot` returned. */
  restore?(saved: JsonValue, context: EnvContext): Awaitable<State>;
  /** Releases resources of a state other than memory, for example open files. */
  close?(state: State): void;
}

/** An environment with its types erased, as the host runs it. The host checks actions before it passes them on. */
export type Environment = EnvSpec<unknown, unknown, unknown>;

/**
 * Declares an environment. Its state must be JSON, or it must have `snapshot` and `restore`. The host then saves,
 * recovers and forks its episodes without further code.
 */
export function defineEnv<State, const Action, const Observation>(
  spec: EnvSpec<State, Action, Observation>,
): Environment {
  if (!/^[\w.:/-]{1,128}$/.test(spec.name))
    throw new TypeError(
      `"${spec.name}" is not a valid environment name: use 1 to 128 of the characters A-Z a-z 0-9 _ . : / -`,
    );
  if ((spec.snapshot === undefined) !== (spec.restore === undefined))
    throw new TypeError(`environment "${spec.name}": define both snapshot and restore, or neither`);
  return spec as unknown as Environment;
}

export function isEnvironment(value: unknown): value is Environment {
  if (typeof value !== "object" || value === null) return false;
  const { name, reset, step, actionSpace, observationSpace } = value as Partial<Environment>;
  return (
    typeof name === "string" &&
    typeof reset === "function" &&
    typeof step === "function" &&
    typeof actionSpace?.contains === "function" &&
    typeof observationSpace?.contains === "function"
  );
}
