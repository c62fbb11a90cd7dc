// Runs the code of an environment on one state. An error in that code becomes an error of the call, and leaves the
// state and the random numbers as they were.
import { type Awaitable, andThen, isThenable } from "../../../protocol/awaitable.ts";
import { copyJson, type JsonObject, type JsonValue } from "../../../protocol/json.ts";
import type { EnvContext, EnvEvent, Environment, ResetContext, StepResult } from "../define-env.ts";
import { toEnvError } from "../problems.ts";
import type { RandomState, SeededRandom } from "../random.ts";
import { assertUsable, wireStateOf, writeState } from "./state-checks.ts";

/** The parts of `EnvContext` that the episode provides. */
export interface EnvSurroundings {
  readonly dataDir: string;
  readonly signal: AbortSignal;
  push(event: EnvEvent): void;
  /** Logs an error of the environment that no call waits for. */
  warn(message: string, error: unknown): void;
}

export class EnvInstance {
  readonly environment: Environment;
  readonly #random: SeededRandom;
  readonly #context: EnvContext;
  readonly #surroundings: EnvSurroundings;
  #state: unknown;
  /** Whether there is a state to close. */
  #isBegun = false;
  /** Whether an asynchronous call is running, which may have drawn random numbers already. */
  #isChanging = false;

  constructor(environment: Environment, chance: SeededRandom, surroundings: EnvSurroundings) {
    this.environment = environment;
    this.#random = chance;
    this.#surroundings = surroundings;
    this.#context = {
      random: chance,
      // Read on first use: most environments use neither files nor the signal.
      get dataDir() {
        return surroundings.dataDir;
      },
      get signal() {
        return surroundings.signal;
      },
      push: (event) => surroundings.push(event),
    };
  }

  /** The state of the random numbers after the last call that has ended. */
  get chance(): RandomState {
    return this.#isChanging ? this.#random.held : this.#random.state;
  }

  /**
   * The observation of the current state. A copy: a step may change the state in place before the observation is sent.
   */
  get shown(): JsonObject {
    return copyJson(wireStateOf(this.environment, this.#state));
  }

  reset(seed: number, given: JsonObject): Awaitable<void> {
    const { environment } = this;
    // The environment may change these options as part of its state, and an autoreset uses them again.
    const options = copyJson(given);
    const context: ResetContext = Object.assign(Object.create(this.#context) as EnvContext, { seed, options });
    const begin = (state: unknown) => {
      try {
        assertUsable(environment, state);
      } catch (error) {
        this.#close(state);
        throw error;
      }
      this.letGo();
      this.#state = state;
      this.#isBegun = true;
    };
    this.#random.hold();
    try {
      const state = environment.reset(context);
      return isThenable(state) ? this.#later(state, begin) : begin(state);
    } catch (thrown) {
      return this.#undo(thrown);
    }
  }

  restore(saved: JsonValue): Awaitable<void> {
    const { environment } = this;
    // The environment may change its state in place, and the saved state is shared with snapshots and forks.
    const own = copyJson(saved);
    const restored =
      environment.restore === undefined ? own : this.#attempt(() => environment.restore?.(own, this.#context));
    return andThen(restored, (state) => {
      this.#state = state;
      this.#isBegun = true;
    });
  }

  /**
   * Takes a step and calls `next` with its result and observation. Not built on `#attempt`, since this is the hot path.
   */
  step<Next>(action: unknown, next: (result: StepResult<unknown>, shown: JsonObject) => Next): Awaitable<Next> {
    this.#random.hold();
    try {
      const result = this.environment.step(this.#state, action, this.#context);
      if (!isThenable(result)) return this.#take(result as StepResult<unknown>, next);
      return this.#later(result, (later) => this.#take(later, next));
    } catch (thrown) {
      return this.#undo(thrown);
    }
  }

  #take<Next>(result: StepResult<unknown>, next: (result: StepResult<unknown>, shown: JsonObject) => Next): Next {
    if (typeof result !== "object" || result === null) throw new Error("its step returned no result object");
    const state = result.state === undefined ? this.#state : result.state;
    // Before the change, since `observe` may throw.
    const live = wireStateOf(this.environment, state);
    // A state that is changed in place would show the next step before this observation is sent.
    const outcome = next(result, state === this.#state ? copyJson(live) : live);
    this.#state = state;
    return outcome;
  }

  render(mode: string): Awaitable<JsonValue> {
    const { environment } = this;
    return andThen(
      this.#attempt(() => environment.render?.(this.#state, mode)),
      (shown) => shown ?? null,
    );
  }

  /** Plans for the current state, or for `other`. */
  plan(other?: { state: unknown }): Awaitable<readonly unknown[]> {
    const { environment } = this;
    return this.#attempt(() => environment.plan?.(other === undefined ? this.#state : other.state) ?? []);
  }

  /** The state as JSON that shares no objects with it. Throws if the state cannot be saved. */
  save(): JsonValue {
    return writeState(this.environment, this.#state);
  }

  letGo(): void {
    if (!this.#isBegun) return;
    this.#isBegun = false;
    this.#close(this.#state);
  }

  #close(state: unknown): void {
    try {
      this.environment.close?.(state);
    } catch (error) {
      this.#surroundings.warn("close() of an environment threw", error);
    }
  }

  #later<Value, Next>(value: PromiseLike<Value>, next: (value: Value) => Next): Promise<Next> {
    this.#isChanging = true;
    return Promise.resolve(value)
      .then((later) => {
        this.#isChanging = false;
        return next(later);
      })
      .catch((thrown: unknown) => this.#undo(thrown));
  }

  #undo(thrown: unknown): never {
    this.#isChanging = false;
    this.#random.rewind();
    throw toEnvError(thrown, this.environment);
  }

  #attempt<Value>(work: () => Awaitable<Value>): Awaitable<Value> {
    const failed = (thrown: unknown): never => {
      throw toEnvError(thrown, this.environment);
    };
    try {
      const value = work();
      return isThenable(value) ? Promise.resolve(value).catch(failed) : value;
    } catch (thrown) {
      return failed(thrown);
    }
  }
}
