// Writing an environment: one object, whose types come from its spaces.
import type { Awaitable } from "../../protocol/awaitable.ts";
import type { JsonObject, JsonValue } from "../../protocol/json.ts";
import type { SeededRandom } from "./random.ts";
import type { Space } from "./spaces/space.ts";

/** Something that happened, told to agents that negotiated `env_push`. */
export interface EnvEvent {
  event_type: string;
  reason?: string;
  /** What changed, and only that. */
  delta?: JsonObject;
  reward?: number;
  reward_info?: JsonObject;
  /** The event ends the episode for whoever listens. */
  terminal?: boolean;
}

/** What an environment is given with each call; the same object for the whole life of an episode. */
export interface EnvContext {
  /** The only source of chance: it is saved with the episode, so a seed, a restore and a fork reproduce it. */
  readonly random: SeededRandom;
  /** The folder of `env/data`, as this episode's session sees it; it may not exist yet. */
  readonly dataDir: string;
  /** Aborted when nobody waits for what is being done; whoever then rejects leaves the episode as it was. */
  readonly signal: AbortSignal;
  /** Tells the agent something unasked, at any time until the episode is closed. */
  push(event: EnvEvent): void;
}

export interface ResetContext extends EnvContext {
  readonly seed: number;
  /** What the agent sent as `options`; throw `resetDenied` where it makes no sense. */
  readonly options: JsonObject;
}

export interface StepResult<State> {
  /** Left out where the step changed the state in place. */
  state?: State;
  reward?: number;
  /** The episode has come to its end. */
  done?: boolean;
  /** It was cut short, for a reason outside of it; the step limit is added by the host. */
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
  /** Gets actions of its action space only. */
  step(state: State, action: NoInfer<Action>, context: EnvContext): Awaitable<StepResult<State>>;
  /** What the agent sees of the state; all of it where left out. */
  observe?(state: State): NoInfer<Observation>;
  /** `text`, `json`, `image` (SVG or a data URL) or a mode of its own; undefined where it has no such mode. */
  render?(state: State, mode: string): Awaitable<JsonValue | undefined>;
  /** Actions that make sense now, best first. */
  plan?(state: State): Awaitable<readonly NoInfer<Action>[]>;
  /** For a state that is not JSON: what to save of it. */
  snapshot?(state: State): JsonValue;
  /** The state that `snapshot` was taken of. */
  restore?(saved: JsonValue, context: EnvContext): Awaitable<State>;
  /** Lets go of what a state holds besides memory. */
  close?(state: State): void;
}

/** An environment as the host runs it: its state is its own affair, its actions were checked. */
export type Environment = EnvSpec<unknown, unknown, unknown>;

/**
 * Declares an environment. Its state is JSON, or it has `snapshot` and `restore`: that is all it takes to be saved,
 * recovered and forked.
 */
export function defineEnv<State, const Action, const Observation>(
  spec: EnvSpec<State, Action, Observation>,
): Environment {
  if (!/^[\w.:/-]{1,128}$/.test(spec.name)) throw new TypeError(`"${spec.name}" is no name for an environment`);
  if ((spec.snapshot === undefined) !== (spec.restore === undefined))
    throw new TypeError(`environment "${spec.name}": snapshot and restore come together`);
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
