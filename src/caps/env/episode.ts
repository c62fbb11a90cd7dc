// One run of an environment: its state, its chance, and the rules that hold whatever the environment does.
import { isThenable } from "../../host/thenable.ts";
import type { Clock } from "../../protocol/envelope.ts";
import { copyJson, type JsonObject, type JsonValue } from "../../protocol/json.ts";
import { toAction, toWireObject } from "./action.ts";
import { type Awaitable, andThen } from "./awaitable.ts";
import type { EnvContext, EnvEvent, Environment, ResetContext, StepResult } from "./define-env.ts";
import { episodeCompleted, notInSpace, toEnvError } from "./problems.ts";
import type { AutoresetMode, Experience, Observation } from "./protocol.ts";
import { type RandomState, SeededRandom } from "./random.ts";

/** What an episode needs of the session that it belongs to. */
export interface EpisodeServices {
  readonly clock: Clock;
  readonly maxSteps: number;
  readonly dataDir: string;
  push(episode: Episode, event: EnvEvent): void;
  record(experience: Experience): void;
  /** Called after each change, with the episode as it is now. */
  changed(episode: Episode): void;
}

export interface EpisodeStart {
  seed: number;
  options: JsonObject;
  isRecorded: boolean;
}

/** An episode at rest: JSON, and all of it. */
export type SavedEpisode = {
  env_name: string;
  seed: number;
  options: JsonObject;
  is_recorded: boolean;
  step_num: number;
  reward: number | null;
  total_reward: number;
  done: boolean;
  truncated: boolean;
  info: JsonObject;
  resets: number;
  random: number[];
  state: JsonValue;
};

export function keyOf(id: string): string {
  return `episode/${id}`;
}

export class Episode {
  readonly id: string;
  /** Under which the session's state has it. Made once: it is looked up with every step. */
  readonly key: string;
  readonly environment: Environment;
  readonly seed: number;
  readonly options: JsonObject;
  readonly isRecorded: boolean;
  readonly maxSteps: number;
  stepNum = 0;
  done = false;
  truncated = false;
  isClosed = false;
  /** Set once its session knows it; before that there is nothing to save. */
  isKept = false;
  readonly #services: EpisodeServices;
  readonly #random: SeededRandom;
  readonly #context: EnvContext;
  #state: unknown;
  #reward: number | null = 0;
  #totalReward = 0;
  #info: JsonObject = {};
  #resets = 0;
  /** The work that later work waits for; only environments that answer later have any. */
  #tail: Promise<unknown> | undefined;

  private constructor(id: string, environment: Environment, start: EpisodeStart, services: EpisodeServices) {
    this.id = id;
    this.key = keyOf(id);
    this.environment = environment;
    this.seed = start.seed;
    this.options = start.options;
    this.isRecorded = start.isRecorded;
    this.maxSteps = Math.min(environment.maxSteps ?? services.maxSteps, services.maxSteps);
    this.#services = services;
    this.#random = new SeededRandom(start.seed);
    this.#context = {
      random: this.#random,
      // Named when it is first asked for: most episodes have no files.
      get dataDir() {
        return services.dataDir;
      },
      push: (event) => {
        if (!this.isClosed) services.push(this, event);
      },
    };
  }

  static start(
    id: string,
    environment: Environment,
    start: EpisodeStart,
    services: EpisodeServices,
  ): Awaitable<Episode> {
    const episode = new Episode(id, environment, start, services);
    return andThen(episode.#begin(), () => episode);
  }

  static restore(
    id: string,
    environment: Environment,
    saved: SavedEpisode,
    services: EpisodeServices,
  ): Awaitable<Episode> {
    const { seed, options, is_recorded: isRecorded } = saved;
    const episode = new Episode(id, environment, { seed, options, isRecorded }, services);
    episode.#random.state = saved.random as unknown as RandomState;
    episode.stepNum = saved.step_num;
    episode.done = saved.done;
    episode.truncated = saved.truncated;
    episode.#reward = saved.reward;
    episode.#totalReward = saved.total_reward;
    episode.#info = saved.info;
    episode.#resets = saved.resets;
    // The environment may change its state in place, and what was saved is shared with snapshots and forks.
    const state = copyJson(saved.state);
    const restored =
      environment.restore === undefined
        ? state
        : attempt(environment, () => environment.restore?.(state, episode.#context));
    return andThen(restored, (value) => {
      episode.#state = value;
      return episode;
    });
  }

  /** Everything of it, as JSON that nothing else refers to. A function of its own, so that it can be handed out. */
  readonly save = (): SavedEpisode => ({
    env_name: this.environment.name,
    seed: this.seed,
    options: this.options,
    is_recorded: this.isRecorded,
    step_num: this.stepNum,
    reward: this.#reward,
    total_reward: this.#totalReward,
    done: this.done,
    truncated: this.truncated,
    info: copyJson(this.#info),
    resets: this.#resets,
    random: [...this.#random.state],
    state: copyJson(
      this.environment.snapshot === undefined ? this.#state : this.environment.snapshot(this.#state),
    ) as JsonValue,
  });

  get isCompleted(): boolean {
    return this.done || this.truncated;
  }

  /** What stands before and after a step in an experience. */
  get wireState(): JsonObject {
    const { environment } = this;
    return toWireObject(environment.observe === undefined ? this.#state : environment.observe(this.#state));
  }

  /** What an agent sees now, without acting. */
  observe(): Observation {
    const metadata = {
      env_name: this.environment.name,
      seed: this.seed,
      total_reward: this.#totalReward,
      ...this.#info,
    };
    return this.#observation(metadata);
  }

  step(given: JsonValue): Awaitable<Observation> {
    // The way of nearly every step, and so without the function that waiting would take.
    if (this.#tail !== undefined) return this.#inTurn(() => this.#step(given));
    const observation = this.#step(given);
    return isThenable(observation) ? this.#follow(observation as Promise<Observation>) : observation;
  }

  /** As `step`, and starts over where the episode ends. */
  stepWith(given: JsonValue, mode: AutoresetMode): Awaitable<Observation> {
    if (mode === "disabled") return this.step(given);
    return this.#inTurn(() => {
      if (this.isCompleted)
        return mode === "next_step"
          ? andThen(this.#begin(), () => this.#observation({ autoreset: true }))
          : this.#refuse();
      return andThen(this.#step(given), (last) => {
        if (mode === "next_step" || !this.isCompleted) return last;
        return andThen(this.#begin(), () => ({
          ...last,
          step_num: 0,
          state: this.wireState,
          metadata: {
            ...last.metadata,
            autoreset: true,
            final_observation: last.state,
            final_step_num: last.step_num,
          },
        }));
      });
    });
  }

  render(mode: string): Awaitable<JsonValue> {
    return this.#inTurn(() =>
      andThen(
        attempt(this.environment, () => this.environment.render?.(this.#state, mode)),
        (shown) => shown ?? null,
      ),
    );
  }

  plan(state: unknown = this.#state): Awaitable<readonly unknown[]> {
    return this.#inTurn(() => attempt(this.environment, () => this.environment.plan?.(state) ?? []));
  }

  /** A copy that acts on nothing but itself, with the same chance or another. */
  fork(seed: number | null): Awaitable<Episode> {
    return this.#inTurn(() => {
      const saved = this.save();
      const random = seed === null ? saved.random : [...new SeededRandom(seed).state];
      const services = Object.assign(Object.create(this.#services) as EpisodeServices, {
        push() {},
        record() {},
        changed() {},
      });
      return Episode.restore(this.id, this.environment, { ...saved, random }, services);
    });
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.environment.close?.(this.#state);
  }

  #begin(): Awaitable<void> {
    const { environment, seed, options } = this;
    const context: ResetContext = Object.assign(Object.create(this.#context) as EnvContext, { seed, options });
    return andThen(
      attempt(environment, () => environment.reset(context)),
      (state) => {
        if (environment.snapshot === undefined) assertJson(state, environment);
        this.#state = state;
        assertObservation(this);
        // Starting over goes on with the same chance, so one seed reproduces all that follows.
        if (this.stepNum > 0) this.#resets += 1;
        this.stepNum = 0;
        this.#reward = 0;
        this.#totalReward = 0;
        this.done = this.truncated = false;
        this.#info = {};
        this.#services.changed(this);
      },
    );
  }

  #step(given: JsonValue): Awaitable<Observation> {
    if (this.isCompleted) this.#refuse();
    const { environment } = this;
    const action = toAction(environment.actionSpace, given);
    if (action === undefined) throw notInSpace(environment, given);
    const before = this.isRecorded ? copyJson(this.wireState) : undefined;
    let result: Awaitable<StepResult<unknown>>;
    try {
      result = environment.step(this.#state, action, this.#context);
    } catch (thrown) {
      throw toEnvError(thrown, environment);
    }
    if (!isThenable(result)) return this.#apply(result as StepResult<unknown>, action, before);
    return Promise.resolve(result).then(
      (later) => this.#apply(later, action, before),
      (thrown: unknown) => {
        throw toEnvError(thrown, environment);
      },
    );
  }

  #apply(result: StepResult<unknown>, action: unknown, before: JsonObject | undefined): Observation {
    if (result.state !== undefined) this.#state = result.state;
    const reward = result.reward ?? 0;
    this.stepNum += 1;
    this.#reward = Number.isFinite(reward) ? reward : null;
    this.#totalReward += this.#reward ?? 0;
    this.done = result.done === true;
    this.truncated = result.truncated === true || this.stepNum >= this.maxSteps;
    this.#info = result.info ?? noInfo;
    const observation = this.#observation(this.#info);
    if (before !== undefined) this.#record(action, before, observation);
    this.#services.changed(this);
    if (this.done || this.truncated) this.#tellEnd(observation);
    return observation;
  }

  #observation(metadata: JsonObject): Observation {
    return {
      episode_id: this.id,
      step_num: this.stepNum,
      state: this.wireState,
      done: this.done,
      truncated: this.truncated,
      reward: this.#reward,
      created_at: this.#services.clock.now() / 1000,
      metadata,
    };
  }

  #record(action: unknown, state: JsonObject, { state: next_state, created_at }: Observation): void {
    this.#services.record({
      episode_id: this.id,
      env_name: this.environment.name,
      step_num: this.stepNum,
      state,
      action: copyJson(action) as JsonValue,
      reward: this.#reward ?? 0,
      next_state: copyJson(next_state),
      done: this.done,
      truncated: this.truncated,
      created_at,
    });
  }

  #tellEnd({ state }: Observation): void {
    const reason = this.done ? "done" : "truncated";
    const reward = this.#reward === null ? {} : { reward: this.#reward };
    this.#services.push(this, { event_type: "termination", reason, delta: state, ...reward, terminal: true });
  }

  #refuse(): never {
    throw episodeCompleted(this.id);
  }

  /** One thing at a time, in the order of asking; at once where the environment answers at once. */
  #inTurn<Result>(work: () => Awaitable<Result>): Awaitable<Result> {
    const result = this.#tail === undefined ? work() : this.#tail.then(work);
    if (!isThenable(result)) return result as Result;
    return this.#follow(result as Promise<Result>);
  }

  /** Later work waits for this. */
  #follow<Result>(promise: Promise<Result>): Promise<Result> {
    const tail: Promise<unknown> = promise.then(ignore, ignore).then(() => {
      if (this.#tail === tail) this.#tail = undefined;
    });
    this.#tail = tail;
    return promise;
  }
}

const noInfo: JsonObject = {};

function ignore(): void {}

function attempt<Value>(environment: Environment, work: () => Awaitable<Value>): Awaitable<Value> {
  const failed = (thrown: unknown): never => {
    throw toEnvError(thrown, environment);
  };
  try {
    const value = work();
    return isThenable(value) ? Promise.resolve(value).catch(failed) : value;
  } catch (thrown) {
    return failed(thrown);
  }
}

/** A state that JSON cannot carry would be lost at the first restart; better to say so at the first reset. */
function assertJson(state: unknown, environment: Environment): void {
  if (JSON.stringify(state) !== undefined && isPlain(state)) return;
  throw toEnvError(new Error("its state is not JSON; give it snapshot and restore"), environment);
}

function isPlain(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return typeof value !== "undefined" && typeof value !== "function";
  if (Array.isArray(value)) return value.every(isPlain);
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && Object.values(value).every(isPlain);
}

function assertObservation(episode: Episode): void {
  const { environment, wireState } = episode;
  const { observationSpace } = environment;
  const readings: unknown[] = [wireState, wireState.value];
  if (readings.some((reading) => observationSpace.contains(reading))) return;
  throw toEnvError(new Error("what it shows is not in its observation space"), environment);
}
