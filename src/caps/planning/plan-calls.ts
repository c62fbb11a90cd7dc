// The calls on whole plans.
import type { RequestOf } from "../../protocol/table/capability.ts";
import { compareFields, type Desk } from "./desk.ts";
import { planningLimits } from "./limits.ts";
import { type Plan, type PlanSummary, type Task, toPlanView, toTaskView } from "./model.ts";
import { changedMeanwhile, limitReached, ownerOnly, repeatedColumn } from "./problems.ts";
import type { BoardView, PlanView, planning, TaskView } from "./protocol.ts";
import { findRepeated, toColumns } from "./storage/columns.ts";

type Calls = (typeof planning)["calls"];

export function createPlan(desk: Desk, request: RequestOf<Calls["createPlan"]>): PlanView {
  const { space, tables, options, now } = desk;
  const { owner, name, overlays } = space.viewer;
  if (tables.countPlans(owner, overlays) >= options.max_plans) throw limitReached("max_plans", options.max_plans);
  refuseRepeated(request.columns);
  const plan: Plan = {
    overlay: space.overlay,
    plan_id: desk.nextId(),
    owner,
    owner_name: name,
    is_shared: request.shared ?? options.shared,
    name: request.name,
    description: request.description,
    columns: toColumns(request.columns.length === 0 ? options.columns : request.columns),
    next_position: 1,
    version: 1,
    base_version: null,
    is_deleted: false,
    created_at: now,
    updated_at: now,
  };
  tables.writePlan(plan);
  desk.notePlan(plan, "plan_created");
  return toPlanView(plan, 0);
}

export function listPlans(
  { space, tables }: Desk,
  { limit, offset }: RequestOf<Calls["listPlans"]>,
): { plans: PlanView[]; total: number } {
  const all = space.plans();
  const page = all.slice(offset, offset + limit);
  const counts = tables.countByPlan(page);
  const plans: PlanView[] = [];
  let room: number = planningLimits.maxAnswerBytes;
  for (const plan of page) {
    const described = { ...plan, description: tables.descriptionOf(plan) };
    const view = toPlanView(described, counts.get(plan.plan_id) ?? 0);
    room -= Buffer.byteLength(JSON.stringify(view));
    if (room < 0 && plans.length > 0) break;
    plans.push(view);
  }
  return { plans, total: all.length };
}

export function updatePlan(desk: Desk, request: RequestOf<Calls["updatePlan"]>): PlanView {
  const { space, tables } = desk;
  const plan = space.own(request.plan_id);
  const isShared = request.shared ?? plan.is_shared;
  if (isShared !== plan.is_shared && plan.owner !== space.viewer.owner) throw ownerOnly(plan.plan_id);
  if (request.if_version !== undefined && request.if_version !== plan.version)
    throw changedMeanwhile("the plan", request.if_version, plan.version);
  refuseRepeated(request.columns);
  const changed: Plan = {
    ...plan,
    name: request.name === "" ? plan.name : request.name,
    description: request.description === "" ? plan.description : (request.description ?? ""),
    columns: request.columns.length === 0 ? plan.columns : toColumns(request.columns),
    is_shared: isShared,
  };
  const changes = compareFields(["name", "description", "columns", "is_shared"], plan, changed);
  const count = tables.countByPlan([plan]).get(plan.plan_id) ?? 0;
  if (changes.length === 0) return toPlanView(plan, count);
  const written = { ...changed, version: plan.version + 1, updated_at: desk.now };
  tables.writePlan(written);
  desk.notePlan(
    written,
    "plan_updated",
    changes.map((change) => (change.field === "is_shared" ? { ...change, field: "shared" } : change)),
  );
  // For agents that saw the plan only because it was shared, it is deleted.
  if (plan.is_shared && !isShared) desk.notePlan(plan, "plan_deleted", [], true);
  return toPlanView(written, count);
}

export function deletePlan(desk: Desk, { plan_id }: RequestOf<Calls["deletePlan"]>): void {
  const { space } = desk;
  const plan = space.plan(plan_id);
  if (plan.owner !== space.viewer.owner) throw ownerOnly(plan_id);
  removePlan(desk, plan);
}

/**
 * Removes the plan for this session. If an overlay below has the plan, rows marked as deleted hide it and its tasks.
 */
export function removePlan(desk: Desk, { plan_id }: Plan): void {
  const { space, tables } = desk;
  const plan = space.own(plan_id);
  if (plan.base_version === null) tables.removePlan(plan.overlay, plan_id);
  else {
    for (const task of tables.rowsOf(plan)) tables.removeTask(task);
    tables.writePlan({ ...plan, is_deleted: true });
  }
  desk.notePlan(plan, "plan_deleted");
}

export function showBoards(
  { space, tables, now }: Desk,
  plan_id: string,
): { boards: BoardView[]; truncated?: boolean } {
  const plans = space.choose(plan_id).slice(0, planningLimits.maxListed);
  const counts = tables.countByPlan(plans);
  const shown = tables.listTasks(plans, "", planningLimits.maxBoardTasks, 0);
  const tasks = groupByPlan(shown);
  const boards = plans.map((plan) => ({
    plan_id: plan.plan_id,
    name: plan.name,
    columns: byColumn(plan, tasks.get(plan.plan_id) ?? [], now),
    column_details: [...plan.columns],
    task_count: counts.get(plan.plan_id) ?? 0,
  }));
  const total = boards.reduce((sum, { task_count }) => sum + task_count, 0);
  return shown.length < total ? { boards, truncated: true } : { boards };
}

function groupByPlan(tasks: readonly Task[]): Map<string, Task[]> {
  const groups = new Map<string, Task[]>();
  for (const task of tasks) {
    const group = groups.get(task.plan_id);
    if (group === undefined) groups.set(task.plan_id, [task]);
    else group.push(task);
  }
  return groups;
}

function byColumn(plan: PlanSummary, tasks: readonly Task[], now: number): Record<string, TaskView[]> {
  const columns = new Map<string, TaskView[]>(plan.columns.map(({ name }) => [name, []]));
  for (const task of tasks) {
    // The column may have been removed while tasks were in it.
    const column = columns.get(task.status) ?? [];
    columns.set(task.status, column);
    column.push(toTaskView(task, now));
  }
  return Object.fromEntries(columns);
}

function refuseRepeated(columns: RequestOf<Calls["createPlan"]>["columns"]): void {
  const repeated = findRepeated(columns);
  if (repeated !== undefined) throw repeatedColumn(repeated);
}
