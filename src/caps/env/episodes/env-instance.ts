// An environment at work: its state, its chance, and every call of its code. What fails in there is told as its own
// failure, and leaves state and chance as they were.
import { type Awaitable, andThen, isThenable } from "../../../protocol/awaitable.ts";
import { copyJson, type JsonObject, type JsonValue } from "../../../protocol/json.ts";
import type { EnvContext, EnvEvent, Environment, ResetContext, StepResult } from "../define-env.ts";
import { toEnvError } from "../problems.ts";
import type { RandomState, SeededRandom } from "../random.ts";
import { assertUsable, wireStateOf, writeState } from "./state-checks.ts";

/** What an environment is given beside its chance. */
export interface EnvSurroundings {
  readonly dataDir: string;
  readonly signal: AbortSignal;
  push(event: EnvEvent): void;
  /** Something of the environment's went wrong that nobody waits for. */
  warn(message: string, error: unknown): void;
}

export class EnvInstance {
  readonly environment: Environment;
  readonly #random: SeededRandom;
  readonly #context: EnvContext;
  readonly #surroundings: EnvSurroundings;
  #state: unknown;
  /** Whether there is a state to let go of. */
  #isBegun = false;
  /** Whether a call is under way, which may have drawn from the chance already. */
  #isChanging = false;

  constructor(environment: Environment, chance: SeededRandom, surroundings: EnvSurroundings) {
    this.environment = environment;
    this.#random = chance;
    this.#surroundings = surroundings;
    this.#context = {
      random: chance,
      // Asked for when needed: most environments have neither files nor anything to break off.
      get dataDir() {
        return surroundings.dataDir;
      },
      get signal() {
        return surroundings.signal;
      },
      push: (event) => surroundings.push(event),
    };
  }

  /** Of the last call that has ended. */
  get chance(): RandomState {
    return this.#isChanging ? this.#random.held : this.#random.state;
  }

  /** What stands on the wire for the state. A copy: the state may be changed in place before it is told. */
  get shown(): JsonObject {
    return copyJson(wireStateOf(this.environment, this.#state));
  }

  reset(seed: number, given: JsonObject): Awaitable<void> {
    const { environment } = this;
    // A state that is changed in place may be made of them, and the next round begins with them again.
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
    // It may change its state in place, and what was saved is shared with snapshots and forks.
    const own = copyJson(saved);
    const restored =
      environment.restore === undefined ? own : this.#attempt(() => environment.restore?.(own, this.#context));
    return andThen(restored, (state) => {
      this.#state = state;
      this.#isBegun = true;
    });
  }

  /** Goes on with what came of it and what it shows. Spelled out, since nearly all that is ever done is a step. */
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
    if (typeof result !== "object" || result === null) throw new Error("its step returned no result");
    const state = result.state === undefined ? this.#state : result.state;
    // First, since it may fail: nothing has changed by then.
    const live = wireStateOf(this.environment, state);
    // What is changed in place would show the next step before this one is told.
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

  /** For the state it is in, or for another. */
  plan(other?: { state: unknown }): Awaitable<readonly unknown[]> {
    const { environment } = this;
    return this.#attempt(() => environment.plan?.(other === undefined ? this.#state : other.state) ?? []);
  }

  /** The state as JSON that nothing else refers to; throws where it has no such form. */
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
      this.#surroundings.warn("an environment could not close an episode", error);
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
