// What a run may cost. Expressions come from agents, and a short one can ask for any amount of time and memory: so each
// step of one is counted, and so is everything that it makes. Nodes are counted too, since a run of tools that answer
// at once would take the whole host for itself until it ends.
import { chainLimits } from "../limits.ts";

/** Text is cheap: so many characters are one step. */
const charactersPerStep = 8;
/** A call takes about as long as so many steps. */
const stepsPerCall = 100;

export class Work {
  #left: number = chainLimits.maxExpressionSteps;
  #turnSteps = 0;

  /** A node, or an item of a map, begins: its expressions may take so many steps again. */
  begin(): void {
    this.#turnSteps += stepsPerCall + chainLimits.maxExpressionSteps - this.#left;
    this.#left = chainLimits.maxExpressionSteps;
  }

  /** Throws where there is nothing left to spend. Call it before the work is done. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left >= 0) return;
    this.#left = 0;
    throw new Error(`it takes more than ${chainLimits.maxExpressionSteps} steps: read less, or let a tool do it`);
  }

  spendText(length: number): void {
    this.spend(1 + length / charactersPerStep);
  }

  /** The longest text that can still be made. */
  get textLeft(): number {
    return this.#left * charactersPerStep;
  }

  /** Whether others should have their turn before anything else begins. */
  get isTurnOver(): boolean {
    return this.#turnSteps >= chainLimits.maxTurnSteps;
  }

  /** Counted and not timed, so that a replay does the same. */
  nextTurn(): Promise<void> {
    return new Promise((resolve) =>
      setImmediate(() => {
        this.#turnSteps = 0;
        resolve();
      }),
    );
  }
}
