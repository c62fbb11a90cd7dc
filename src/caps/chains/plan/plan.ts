// A chain as it runs: nodes and edges by number, expressions compiled. Made once per chain and shared by all its runs.
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import type { Expression } from "../expressions/expression.ts";
import type { OutputForm } from "./output-form.ts";

/**
 * What has to happen to the node that an edge leaves for the edge to be live. `next`, `true`, `false` and `error` lead
 * to a node; `wait` only holds it back: a node that somebody leads to runs where one of those edges is live, and any
 * other where one of the edges it waits by is.
 */
export type EdgeKind = "next" | "true" | "false" | "error" | "wait";

export interface Edge {
  readonly from: number;
  readonly to: number;
  readonly kind: EdgeKind;
}

/** The input of a node: the same in every run, or from expressions. */
export interface InputPlan {
  readonly fixed: JsonObject;
  readonly mapped: readonly (readonly [field: string, value: Expression])[];
}

export const callKinds = ["tool", "skill", "proc", "action"] as const;
export type CallKind = (typeof callKinds)[number];

export type Work =
  | { readonly kind: CallKind; readonly name: string; readonly input: InputPlan }
  | { readonly kind: "branch"; readonly condition: Expression }
  | { readonly kind: "map"; readonly items: Expression; readonly each: PlannedNode; readonly maxParallel: number }
  | { readonly kind: "gather"; readonly sources: readonly number[]; readonly input: InputPlan }
  | {
      readonly kind: "reduce";
      /** A named function, or else a tool. */
      readonly name: string;
      readonly items: Expression | undefined;
      readonly sources: readonly number[];
      readonly input: InputPlan;
    }
  | { readonly kind: "approval"; readonly message: string; readonly input: InputPlan };

export interface PlannedNode {
  /** Its place in the plan; -1 for what a map runs. */
  readonly index: number;
  readonly id: string;
  /** Its id as part of idempotency keys. */
  readonly key: string;
  readonly work: Work;
  /** Where a failure leads, beside an edge of kind `error`. */
  readonly onError: "abort" | "skip" | "node";
  readonly retries: number;
  readonly retryDelayMs: number;
  /** Of one attempt; 0 where the node has none of its own. */
  readonly timeoutMs: number;
}

export interface Plan {
  readonly nodes: readonly PlannedNode[];
  readonly indexOf: ReadonlyMap<string, number>;
  /** By the node that they leave. */
  readonly edges: readonly (readonly Edge[])[];
  /** How many edges come in, by node. */
  readonly incoming: readonly number[];
  /** Whether an edge leads to the node. */
  readonly isLedTo: readonly boolean[];
  /** Nodes only wait for each other and none leads anywhere, so that none is ever passed over. */
  readonly isUnconditional: boolean;
  /** Nodes that wait for nothing, in the order of the chain. */
  readonly roots: readonly number[];
  /** Nodes that no other comes after. */
  readonly ends: readonly number[];
  /** Makes the outputs of a run in which every node has one. */
  readonly toOutputs: OutputForm;
  /** Nodes that may pass on what they were given: what others come to is a value of its own. */
  readonly passing: readonly number[];
  /** Nodes by the earliest step at which they can run. */
  readonly levels: readonly (readonly number[])[];
  /** Names that expressions want of the initial input, each with the nodes that do. */
  readonly inputs: ReadonlyMap<string, readonly string[]>;
  readonly tools: ReadonlyMap<string, readonly string[]>;
  readonly skills: ReadonlyMap<string, readonly string[]>;
  /** Tools or skills. */
  readonly actions: ReadonlyMap<string, readonly string[]>;
  readonly hasProcs: boolean;
  /** Some of its work ends by a signal rather than with the call that began it. */
  readonly needsSignal: boolean;
}

/** A constant of an `input_map`. */
export function constant(value: JsonValue): Expression {
  return { names: [], evaluate: () => value };
}
