// The result of a run, for its agent.
import { copyJson, type JsonObject, type JsonValue } from "../../../protocol/json.ts";
import type { Plan, PlannedNode } from "../plan/plan.ts";
import type { ChainRunError } from "../protocol.ts";
import type { OutputReference } from "./output-store.ts";
import type { RunScope } from "./run-scope.ts";

export interface RunOutcome {
  readonly success: boolean;
  readonly outputs: JsonObject;
  readonly final_output: JsonValue;
  readonly nodes_run: number;
  readonly error: ChainRunError | null;
  readonly failed: string[];
  readonly skipped: string[];
  readonly errors: JsonObject;
  /** True if every node has succeeded, and no other object shares parts of this result. */
  readonly isOwn: boolean;
}

/** The final states of a node; 0 means none yet. */
export const [isDone, hasFailed, isSkipped] = [1, 2, 3] as const;

interface EndedRun {
  readonly plan: Plan;
  /** By node. */
  readonly states: readonly number[];
  readonly scope: RunScope;
  /** Outputs that are too large for a message. */
  readonly references: ReadonlyMap<number, OutputReference> | undefined;
  readonly nodesRun: number;
  readonly error: ChainRunError | null;
}

export function toOutcome(run: EndedRun): RunOutcome {
  const isComplete = run.error === null && run.nodesRun === run.plan.nodes.length && isEmpty(run.scope.errors);
  return isComplete ? toCompleteOutcome(run) : toPartialOutcome(run);
}

/** The usual case: no node failed or was skipped, so only the outputs have to be computed. */
function toCompleteOutcome({ plan, scope, references, nodesRun }: EndedRun): RunOutcome {
  const values = scope.outputs;
  if (references !== undefined) for (const [index, reference] of references) values[index] = reference;
  for (const index of plan.passing) values[index] = copyJson(values[index]);
  const outputs = plan.toOutputs(values);
  const lasts = plan.ends.map((index) => (plan.nodes[index] as PlannedNode).id);
  return {
    success: true,
    outputs,
    final_output: copyJson(toFinal(lasts, outputs)),
    nodes_run: nodesRun,
    error: null,
    failed: [],
    skipped: [],
    errors: {},
    isOwn: true,
  };
}

function isEmpty(object: JsonObject): boolean {
  for (const _ in object) return false;
  return true;
}

function toPartialOutcome({ plan, states, scope, references, nodesRun, error }: EndedRun): RunOutcome {
  const outputs: JsonObject = {};
  const lasts: string[] = [];
  const failed: string[] = [];
  const skipped: string[] = [];
  let isUnhandled = false;
  for (const { id, index, onError } of plan.nodes) {
    const state = states[index];
    if (state === isSkipped) skipped.push(id);
    else if (state === hasFailed) {
      failed.push(id);
      if (onError !== "node") isUnhandled = true;
    } else if (state === isDone) {
      outputs[id] = references?.get(index) ?? scope.outputs[index] ?? null;
      if (isLast(plan, states, index)) lasts.push(id);
    }
  }
  for (const id in scope.errors) {
    // An item of a map that continued without it.
    if (plan.indexOf.has(id)) continue;
    failed.push(id);
    isUnhandled = true;
  }
  return {
    success: error === null && !isUnhandled,
    outputs,
    final_output: error === null ? toFinal(lasts, outputs) : null,
    nodes_run: nodesRun,
    error,
    failed,
    skipped,
    errors: scope.errors,
    isOwn: false,
  };
}

/** Whether no node after this one ran. */
function isLast(plan: Plan, states: readonly number[], index: number): boolean {
  for (const { to } of plan.edges[index] ?? []) {
    const state = states[to];
    if (state === isDone || state === hasFailed) return false;
  }
  return true;
}

function toFinal(lasts: readonly string[], outputs: JsonObject): JsonValue {
  const [only] = lasts;
  if (lasts.length === 1 && only !== undefined) return outputs[only] ?? null;
  return lasts.length === 0 ? null : Object.fromEntries(lasts.map((id) => [id, outputs[id] ?? null]));
}
