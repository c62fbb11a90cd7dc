// Collects the problems of a chain while it is compiled.
import { nearest } from "../../../machinery/nearest.ts";
import { chainLimits } from "../limits.ts";
import type { ChainProblem } from "../protocol.ts";

export class ProblemList {
  readonly all: ChainProblem[];
  #hintStepsLeft: number = chainLimits.maxHintSteps;

  constructor(known: readonly ChainProblem[] = []) {
    this.all = [...known];
  }

  /** Further problems are not reported. */
  get isFull(): boolean {
    return this.all.length >= chainLimits.maxProblems;
  }

  add(code: string, message: string, node_id = "", cycle?: string[]): void {
    if (this.isFull) return;
    this.all.push(cycle === undefined ? { code, message, node_id } : { code, message, node_id, cycle });
  }

  /** A suggestion for a misspelled name, within a budget: each name may have to be compared with every other. */
  hint(name: string, candidates: readonly string[] | ReadonlySet<string>): string {
    if (this.#hintStepsLeft < 0) return "";
    for (const candidate of candidates) this.#hintStepsLeft -= name.length * candidate.length;
    if (this.#hintStepsLeft < 0) return "";
    const meant = nearest(name, candidates);
    return meant === undefined ? "" : `; did you mean "${meant}"?`;
  }
}
