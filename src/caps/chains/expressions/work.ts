// Counts the steps of a run. A short expression of an agent can demand any amount of time and memory, so each step and
// each created value is counted. Nodes are counted too: a run of tools that return at once would otherwise block the
// host until it ends.
import { chainLimits } from "../limits.ts";

/** Text is cheap: this many characters count as one step. */
const charactersPerStep = 8;
/** A call takes about as long as this many steps. */
const stepsPerCall = 100;

export class Work {
  #left: number = chainLimits.maxExpressionSteps;
  #turnSteps = 0;

  /** Resets the budget of steps for the expressions of the next node or item. */
  begin(): void {
    this.#turnSteps += stepsPerCall + chainLimits.maxExpressionSteps - this.#left;
    this.#left = chainLimits.maxExpressionSteps;
  }

  /** Throws if the budget is exceeded. Call it before doing the work. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left >= 0) return;
    this.#left = 0;
    throw new Error(`it takes more than ${chainLimits.maxExpressionSteps} steps: read less, or let a tool do it`);
  }

  spendText(length: number): void {
    this.spend(1 + length / charactersPerStep);
  }

  /** The longest text that the rest of the budget allows. */
  get textLeft(): number {
    return this.#left * charactersPerStep;
  }

  /** Whether the run should yield to the event loop before it starts anything else. */
  get isTurnOver(): boolean {
    return this.#turnSteps >= chainLimits.maxTurnSteps;
  }

  /** Counted in steps and not timed, so that a replay yields at the same places. */
  nextTurn(): Promise<void> {
    return new Promise((resolve) =>
      setImmediate(() => {
        this.#turnSteps = 0;
        resolve();
      }),
    );
  }
}
