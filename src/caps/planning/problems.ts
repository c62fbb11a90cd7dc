// The errors of the planning capability. A plan or task that an agent may not see gets the same error as one that does
// not exist.

import { nearest } from "../../machinery/nearest.ts";
import type { A2EError } from "../../protocol/errors.ts";
import type { Claim, Plan, Task } from "./model.ts";
import { planning } from "./protocol.ts";

export function unknownPlan(plan_id: string): A2EError {
  return planning.error("unknown_plan", `this agent has no plan "${plan_id}"`, { detail: { plan_id } });
}

export function unknownTask(task_id: string, plan_id: string): A2EError {
  const where = plan_id === "" ? "any plan of this agent" : `plan "${plan_id}"`;
  return planning.error("unknown_task", `there is no task "${task_id}" in ${where}`, { detail: { task_id } });
}

export function unknownColumn({ columns, plan_id }: Pick<Plan, "columns" | "plan_id">, status: string): A2EError {
  const names = columns.map(({ name }) => name);
  const meant = nearest(status, names);
  const hint = meant === undefined ? "" : `; did you mean "${meant}"?`;
  return planning.error("unknown_column", `the plan has no column "${status}"${hint}`, {
    detail: { plan_id, status, columns: names },
  });
}

export function repeatedColumn(name: string): A2EError {
  return planning.error("schema_violation", `columns: "${name}" is given twice`, { detail: { column: name } });
}

export function metadataTooLong(maxLength: number): A2EError {
  return planning.error("schema_violation", `metadata: expected at most ${maxLength} characters of JSON`);
}

export function unknownDependency(missing: string[]): A2EError {
  return planning.error("unknown_dependency", `deps: the plan has no task ${quoted(missing)}`, { detail: { missing } });
}

export function dependencyCycle(cycle: string[]): A2EError {
  return planning.error("dependency_cycle", `the task would wait for itself: ${cycle.join(" → ")}`, {
    detail: { cycle },
  });
}

export function hasDependents(task_id: string, dependents: string[]): A2EError {
  return planning.error(
    "has_dependents",
    `task "${task_id}" is needed by ${quoted(dependents)}; change their deps first`,
    {
      detail: { task_id, dependents },
    },
  );
}

export function columnFull(column: string, limit: number): A2EError {
  return planning.error("column_full", `column "${column}" already has ${limit} tasks, its wip_limit`, {
    detail: { column, wip_limit: limit },
  });
}

export function limitReached(limit: string, value: number): A2EError {
  return planning.error("plan_full", `the host allows no more than ${value} (${limit})`, { detail: { limit, value } });
}

export function changedMeanwhile(what: string, expected: number, version: number): A2EError {
  return planning.error("task_changed", `${what} is at version ${version}, not ${expected}; read it again`, {
    detail: { if_version: expected, version },
  });
}

export function notReady(task_id: string, waiting_for: string[]): A2EError {
  return planning.error("task_not_ready", `task "${task_id}" waits for ${quoted(waiting_for)}`, {
    detail: { task_id, waiting_for },
  });
}

export function alreadyDone(task_id: string): A2EError {
  return planning.error("task_not_ready", `task "${task_id}" is done`, {
    retryable: false,
    detail: { task_id, waiting_for: [] },
  });
}

export function nothingReady(): A2EError {
  return planning.error("task_not_ready", "no task is ready and free", { detail: { waiting_for: [] } });
}

export function claimConflict({ task_id }: Task, { by, expires_at }: Claim, now: number): A2EError {
  const who = by === "" ? "another agent" : `"${by}"`;
  return planning.error("claim_conflict", `task "${task_id}" is claimed by ${who}`, {
    detail: { task_id, by, expires_at: expires_at / 1000, retry_after_ms: Math.max(0, Math.ceil(expires_at - now)) },
  });
}

export function claimLost(task_id: string): A2EError {
  return planning.error("claim_lost", `task "${task_id}" is not (or no longer) claimed by this agent`, {
    detail: { task_id },
  });
}

export function ownerOnly(plan_id: string): A2EError {
  return planning.error("forbidden", "only the owner of a plan may share, hide or delete it", { detail: { plan_id } });
}

const maxQuoted = 5;

function quoted(ids: readonly string[]): string {
  const shown = ids.slice(0, maxQuoted).map((id) => `"${id}"`);
  return ids.length > maxQuoted ? `${shown.join(", ")} and ${ids.length - maxQuoted} more` : shown.join(", ");
}
