// Everything that is wrong with a chain, collected while it is compiled.
import type { ChainProblem } from "../protocol.ts";

/** No more are told of one chain: whoever has this many will not read them. */
const maxProblems = 100;

export class ProblemList {
  readonly all: ChainProblem[];

  constructor(known: readonly ChainProblem[] = []) {
    this.all = [...known];
  }

  add(code: string, message: string, node_id = "", cycle?: string[]): void {
    if (this.all.length >= maxProblems) return;
    this.all.push(cycle === undefined ? { code, message, node_id } : { code, message, node_id, cycle });
  }
}
