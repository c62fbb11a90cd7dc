// A compiled chain: nodes and edges by number, expressions compiled. Created once per chain and shared by all its runs.
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import type { Expression } from "../expressions/expression.ts";
import type { OutputForm } from "./output-form.ts";

/**
 * The condition under which an edge is live. `next`, `true`, `false` and `error` lead to a node; `wait` only delays it.
 * A node with leading edges runs if one of those is live; any other node runs if one of its `wait` edges is.
 */
export type EdgeKind = "next" | "true" | "false" | "error" | "wait";

export interface Edge {
  readonly from: number;
  readonly to: number;
  readonly kind: EdgeKind;
}

/** The input of a node: fixed fields, and fields computed by expressions. */
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
      /** A built-in function, or the name of a tool. */
      readonly name: string;
      readonly items: Expression | undefined;
      readonly sources: readonly number[];
      readonly input: InputPlan;
    }
  | { readonly kind: "approval"; readonly message: string; readonly input: InputPlan };

export interface PlannedNode {
  /** Its index in the plan; -1 for a node that a map runs. */
  readonly index: number;
  readonly id: string;
  /** Its id, escaped for use in idempotency keys. */
  readonly key: string;
  readonly work: Work;
  /** The effect of a failure, in addition to an edge of kind `error`. */
  readonly onError: "abort" | "skip" | "node";
  readonly retries: number;
  readonly retryDelayMs: number;
  /** For one attempt; 0 if the node has no timeout of its own. */
  readonly timeoutMs: number;
}

export interface Plan {
  readonly nodes: readonly PlannedNode[];
  readonly indexOf: ReadonlyMap<string, number>;
  /** By the node that they leave. */
  readonly edges: readonly (readonly Edge[])[];
  /** The number of incoming edges, by node. */
  readonly incoming: readonly number[];
  /** Whether an edge leads to the node. */
  readonly isLedTo: readonly boolean[];
  /** True if all edges are `wait`, so that no node is ever skipped. */
  readonly isUnconditional: boolean;
  /** Nodes without predecessors, in the order of the chain. */
  readonly roots: readonly number[];
  /** Nodes without successors. */
  readonly ends: readonly number[];
  /** Creates the outputs of a run in which every node has one. */
  readonly toOutputs: OutputForm;
  /** Nodes whose output may share values with their input. All other outputs are new values. */
  readonly passing: readonly number[];
  /** Nodes by the earliest step at which they can run. */
  readonly levels: readonly (readonly number[])[];
  /** Names that expressions read from the initial input, each with the nodes that read it. */
  readonly inputs: ReadonlyMap<string, readonly string[]>;
  readonly tools: ReadonlyMap<string, readonly string[]>;
  readonly skills: ReadonlyMap<string, readonly string[]>;
  /** Names that may be tools or skills. */
  readonly actions: ReadonlyMap<string, readonly string[]>;
  readonly hasProcs: boolean;
  /** Some of its work is stopped by a signal and not by the end of the call that started it. */
  readonly needsSignal: boolean;
}

/** A constant of an `input_map`. */
export function constant(value: JsonValue): Expression {
  return { names: [], evaluate: () => value };
}
