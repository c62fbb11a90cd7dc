// Plans and tasks as they are stored: times are in milliseconds, and each row belongs to an overlay.
import type { JsonObject } from "../../protocol/json.ts";
import type { PlanView, TaskView } from "./protocol.ts";
import type { Column } from "./storage/columns.ts";

/** The overlay of all sessions that are not forks. */
export const ground = "";

export interface Plan {
  readonly overlay: string;
  readonly plan_id: string;
  readonly owner: string;
  readonly owner_name: string;
  readonly is_shared: boolean;
  readonly name: string;
  readonly description: string;
  readonly columns: readonly Column[];
  /** The position of the next task: keeps the order of creation even if the clock goes backwards. */
  readonly next_position: number;
  readonly version: number;
  /** The version from which this overlay copied the plan; null for a plan that was created in this overlay. */
  readonly base_version: number | null;
  readonly is_deleted: boolean;
  readonly created_at: number;
  readonly updated_at: number;
}

/** A plan without its description, which may be long: most calls do not need it. */
export type PlanSummary = Omit<Plan, "description">;

export interface Claim {
  readonly token: string;
  /** The agent that holds the claim. A token is of no use to other agents, so it need not be secret. */
  readonly owner: string;
  /** The session that made the claim, which needs no token. */
  readonly worker: string;
  readonly by: string;
  readonly expires_at: number;
}

export interface Task {
  readonly overlay: string;
  readonly task_id: string;
  readonly plan_id: string;
  readonly position: number;
  readonly title: string;
  readonly status: string;
  readonly description: string;
  readonly assignee: string;
  readonly deps: readonly string[];
  readonly metadata: JsonObject;
  readonly priority: number;
  readonly version: number;
  readonly base_version: number | null;
  readonly is_deleted: boolean;
  readonly claim: Claim | undefined;
  readonly created_at: number;
  readonly updated_at: number;
}

/** The fields that agents may change. */
export const taskFields = ["title", "status", "description", "assignee", "deps", "metadata", "priority"] as const;
export type TaskFields = Pick<Task, (typeof taskFields)[number]>;

/** The claim, unless it has expired. */
export function liveClaim({ claim }: Task, now: number): Claim | undefined {
  return claim !== undefined && claim.expires_at > now ? claim : undefined;
}

export function toTaskView(task: Task, now: number): TaskView {
  const claim = liveClaim(task, now);
  return {
    task_id: task.task_id,
    plan_id: task.plan_id,
    title: task.title,
    status: task.status,
    description: task.description,
    assignee: task.assignee,
    deps: [...task.deps],
    metadata: task.metadata,
    priority: task.priority,
    version: task.version,
    created_at: task.created_at / 1000,
    updated_at: task.updated_at / 1000,
    ...(claim === undefined ? {} : { claim: { by: claim.by, expires_at: claim.expires_at / 1000 } }),
  };
}

export function toPlanView(plan: Plan, task_count: number): PlanView {
  return {
    plan_id: plan.plan_id,
    name: plan.name,
    description: plan.description,
    columns: plan.columns.map(({ name }) => name),
    column_details: [...plan.columns],
    owner: plan.owner_name,
    shared: plan.is_shared,
    task_count,
    version: plan.version,
    created_at: plan.created_at / 1000,
    updated_at: plan.updated_at / 1000,
  };
}
