// One run of an environment, with the rules that the host enforces for every environment.
import type { Logger } from "../../../plugin/logger.ts";
import { type Awaitable, andThen, isThenable } from "../../../protocol/awaitable.ts";
import type { Clock } from "../../../protocol/envelope.ts";
import type { A2EError } from "../../../protocol/errors.ts";
import { messageOf } from "../../../protocol/errors.ts";
import { copyJson, type JsonObject, type JsonValue } from "../../../protocol/json.ts";
import { toAction } from "../action.ts";
import type { EnvEvent, Environment, StepResult } from "../define-env.ts";
import { episodeCompleted, noActiveEpisode, notInSpace, toEnvError } from "../problems.ts";
import type { AutoresetMode, Experience, Observation } from "../protocol.ts";
import { type RandomState, SeededRandom } from "../random.ts";
import { type Caller, CallerTurns } from "./caller-turns.ts";
import { EnvInstance } from "./env-instance.ts";
import { Progress } from "./progress.ts";
import { keyOf, type SavedEpisode } from "./saved-episode.ts";

/** The services of the session that an episode uses. */
export interface EpisodeServices {
  readonly clock: Clock;
  readonly log: Logger;
  readonly maxSteps: number;
  readonly dataDir: string;
  push(episode: Episode, event: EnvEvent): void;
  record(experience: Experience): void;
  /** Called after each change. */
  changed(episode: Episode): void;
}

export interface EpisodeStart {
  seed: number;
  options: JsonObject;
  isRecorded: boolean;
}

export class Episode {
  readonly id: string;
  /** The key of the episode in the session's state; computed once, since every step uses it. */
  readonly key: string;
  readonly environment: Environment;
  readonly seed: number;
  readonly options: JsonObject;
  readonly isRecorded: boolean;
  readonly maxSteps: number;
  isClosed = false;
  /** Set when the episode was added to its session. Before that it is not saved. */
  isKept = false;
  readonly #services: EpisodeServices;
  readonly #instance: EnvInstance;
  readonly #turns = new CallerTurns(() => this.#assertUsable());
  #progress = new Progress();
  /** Set if the state cannot be saved: further steps would be acknowledged and lost at a restart. */
  #broken: A2EError | undefined;

  private constructor(
    id: string,
    environment: Environment,
    { seed, options, isRecorded }: EpisodeStart,
    services: EpisodeServices,
    chance = new SeededRandom(seed),
  ) {
    this.id = id;
    this.key = keyOf(id);
    this.environment = environment;
    this.seed = seed;
    this.options = options;
    this.isRecorded = isRecorded;
    this.maxSteps = Math.min(environment.maxSteps ?? services.maxSteps, services.maxSteps);
    this.#services = services;
    const turns = this.#turns;
    this.#instance = new EnvInstance(environment, chance, {
      get dataDir() {
        return services.dataDir;
      },
      get signal() {
        return turns.signal;
      },
      push: (event) => {
        if (!this.isClosed) services.push(this, event);
      },
      warn: (message, error) => this.#warn(message, error),
    });
  }

  static start(
    id: string,
    environment: Environment,
    start: EpisodeStart,
    services: EpisodeServices,
    caller?: Caller,
  ): Awaitable<Episode> {
    const episode = new Episode(id, environment, start, services);
    return andThen(episode.#turns.run(caller, episode.#begin, undefined), () => episode);
  }

  static restore(
    id: string,
    environment: Environment,
    saved: SavedEpisode,
    services: EpisodeServices,
  ): Awaitable<Episode> {
    if (saved.problem !== undefined) throw toEnvError(new Error(saved.problem), environment);
    const start = { seed: saved.seed, options: saved.options, isRecorded: saved.is_recorded };
    const chance = SeededRandom.from(saved.random as unknown as RandomState);
    const episode = new Episode(id, environment, start, services, chance);
    episode.#progress = Progress.from(saved);
    return andThen(episode.#instance.restore(saved.state), () => episode);
  }

  /**
   * The whole episode as JSON that shares no objects with it. A bound function, so that it can be passed as a live
   * value. Never throws: the host calls it while it writes the turns of all sessions.
   */
  readonly save = (): SavedEpisode => {
    const rest = {
      env_name: this.environment.name,
      seed: this.seed,
      options: this.options,
      is_recorded: this.isRecorded,
      random: [...this.#instance.chance],
    };
    try {
      return { ...rest, ...this.#progress.save(), state: this.#instance.save() };
    } catch (error) {
      const problem = `its state cannot be written: ${messageOf(error)}`;
      this.#warn("saving an episode failed", error);
      this.#broken ??= toEnvError(new Error(problem), this.environment);
      return { ...rest, ...this.#progress.saveNumbers(), info: {}, state: null, problem };
    }
  };

  get stepNum(): number {
    return this.#progress.stepNum;
  }

  get isCompleted(): boolean {
    return this.#progress.isCompleted;
  }

  /** The state as it is recorded before and after a step. */
  get wireState(): JsonObject {
    return this.#instance.shown;
  }

  /** The current observation, without acting. */
  observe(): Observation {
    if (this.#broken !== undefined) throw this.#broken;
    const metadata = {
      env_name: this.environment.name,
      seed: this.seed,
      total_reward: this.#progress.totalReward,
      ...this.#progress.info,
    };
    return this.#observation(this.wireState, metadata);
  }

  step(given: JsonValue, caller?: Caller): Awaitable<Observation> {
    return this.#turns.run(caller, this.#step, given);
  }

  /** Like `step`, and starts a new round if the episode ends. */
  stepWith(given: JsonValue, mode: AutoresetMode, caller?: Caller): Awaitable<Observation> {
    if (mode === "disabled") return this.step(given, caller);
    const step = (): Awaitable<Observation> => {
      if (this.isCompleted) return andThen(this.#begin(), () => this.#observation(this.wireState, { autoreset: true }));
      const last = this.#step(given);
      return mode === "next_step" ? last : andThen(last, this.#startOver);
    };
    return this.#turns.run(caller, step, undefined);
  }

  render(mode: string, caller?: Caller): Awaitable<JsonValue> {
    return this.#turns.run(caller, () => this.#instance.render(mode), undefined);
  }

  /** Plans for the current state, or for `other`. */
  plan(caller?: Caller, other?: { state: unknown }): Awaitable<readonly unknown[]> {
    return this.#turns.run(caller, () => this.#instance.plan(other), undefined);
  }

  /** A copy without effects on its session: it is neither saved nor recorded, and its pushes are dropped. */
  fork(seed: number | null, caller?: Caller): Awaitable<Episode> {
    const services = Object.assign(Object.create(this.#services) as EpisodeServices, {
      push() {},
      record() {},
      changed() {},
    });
    return this.#copyWith(this.id, seed, services, caller);
  }

  /** A new episode of the session that begins with the current state of this one. */
  copy(id: string, seed: number | null, caller?: Caller): Awaitable<Episode> {
    return this.#copyWith(id, seed, this.#services, caller);
  }

  #copyWith(id: string, seed: number | null, services: EpisodeServices, caller?: Caller): Awaitable<Episode> {
    const copy = () => {
      const saved = this.save();
      const random = seed === null ? saved.random : [...new SeededRandom(seed).state];
      return Episode.restore(id, this.environment, { ...saved, random }, services);
    };
    return this.#turns.run(caller, copy, undefined);
  }

  /** Work that runs is allowed to end; work that waits is rejected. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    const { ended } = this.#turns;
    if (ended === undefined) this.#instance.letGo();
    else void ended.then(() => this.#instance.letGo());
  }

  #warn(message: string, error: unknown): void {
    this.#services.log.warn(message, { env: this.environment.name, error });
  }

  #assertUsable(): void {
    if (this.isClosed) throw noActiveEpisode(this.id);
    if (this.#broken !== undefined) throw this.#broken;
  }

  readonly #begin = (): Awaitable<void> =>
    andThen(this.#instance.reset(this.seed, this.options), () => {
      // The random numbers continue, so one seed reproduces all rounds.
      this.#progress = new Progress();
      this.#turns.keep(this.#noteChange);
    });

  /**
   * Starts a new round after the last step. If the reset fails, the step still counts, and the next step tries the
   * reset again.
   */
  readonly #startOver = (last: Observation): Awaitable<Observation> => {
    if (!this.isCompleted) return last;
    const stay = (error: unknown) => {
      this.#warn("resetting an episode after its last step failed", error);
      return last;
    };
    try {
      const begun = this.#begin();
      return isThenable(begun) ? Promise.resolve(begun).then(() => this.#withEnd(last), stay) : this.#withEnd(last);
    } catch (error) {
      return stay(error);
    }
  };

  /** The first observation of a round, with the last observation of the round before in its metadata. */
  #withEnd({ state: final_observation, step_num: final_step_num, metadata, ...last }: Observation): Observation {
    return {
      ...last,
      step_num: 0,
      state: this.wireState,
      metadata: { ...metadata, autoreset: true, final_observation, final_step_num },
    };
  }

  /** This function and those below are created once per episode, since every step passes them on. */
  readonly #noteChange = () => this.#services.changed(this);

  readonly #step = (given: JsonValue): Awaitable<Observation> => {
    if (this.isCompleted) throw episodeCompleted(this.id);
    const action = toAction(this.environment.actionSpace, given);
    if (action === undefined) throw notInSpace(this.environment, given);
    if (!this.isRecorded) return this.#instance.step(action, this.#apply);
    const state = this.wireState;
    return this.#instance.step(action, (result, shown) => {
      const next_state = copyJson(shown);
      const observation = this.#apply(result, shown);
      this.#record(state, action, next_state, observation);
      return observation;
    });
  };

  readonly #apply = (result: StepResult<unknown>, shown: JsonObject): Observation => {
    this.#progress.advance(result, this.maxSteps);
    const observation = this.#observation(shown, this.#progress.info);
    this.#turns.keep(this.#noteChange);
    if (this.isCompleted && !this.isClosed) this.#tellEnd(shown);
    return observation;
  };

  #observation(state: JsonObject, metadata: JsonObject): Observation {
    const { stepNum, done, truncated, reward } = this.#progress;
    return {
      episode_id: this.id,
      step_num: stepNum,
      state,
      done,
      truncated,
      reward,
      created_at: this.#services.clock.now() / 1000,
      metadata,
    };
  }

  #record(state: JsonObject, action: unknown, next_state: JsonObject, { created_at }: Observation): void {
    const { stepNum, done, truncated, reward } = this.#progress;
    const experience: Experience = {
      episode_id: this.id,
      env_name: this.environment.name,
      step_num: stepNum,
      state,
      action: copyJson(action) as JsonValue,
      reward: reward ?? 0,
      next_state,
      done,
      truncated,
      created_at,
    };
    this.#turns.keep(() => {
      // The episode was closed meanwhile, for example since its session was restored: the step is not part of the new
      // state.
      if (!this.isClosed) this.#services.record(experience);
    });
  }

  #tellEnd(state: JsonObject): void {
    const { done, reward } = this.#progress;
    const rewarded = reward === null ? {} : { reward };
    const reason = done ? "done" : "truncated";
    this.#services.push(this, { event_type: "termination", reason, delta: state, ...rewarded, terminal: true });
  }
}
