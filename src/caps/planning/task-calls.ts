// The calls on tasks.
import { findCycle } from "../../machinery/find-cycle.ts";
import type { RequestOf } from "../../protocol/table/capability.ts";
import { refuseIfClaimed } from "./claim-calls.ts";
import { compareFields, type Desk } from "./desk.ts";
import { planningLimits } from "./limits.ts";
import { type Plan, type Task, type TaskFields, taskFields } from "./model.ts";
import {
  changedMeanwhile,
  columnFull,
  dependencyCycle,
  hasDependents,
  limitReached,
  metadataTooLong,
  unknownColumn,
  unknownDependency,
} from "./problems.ts";
import type { planning } from "./protocol.ts";
import { type Column, isDone } from "./storage/columns.ts";

type Calls = (typeof planning)["calls"];

export function addTask(desk: Desk, request: RequestOf<Calls["addTask"]>): Task {
  const { space, tables, options, now } = desk;
  const plan = space.own(request.plan_id);
  if (tables.countTasks([plan], "") >= options.max_tasks) throw limitReached("max_tasks", options.max_tasks);
  const column = startColumn(plan, request.status);
  const { plan_id, title, description, assignee, metadata, priority } = request;
  const task: Task = {
    overlay: plan.overlay,
    task_id: desk.nextId(),
    plan_id,
    position: plan.next_position,
    title,
    status: column.name,
    description,
    assignee,
    deps: [...new Set(request.deps)],
    metadata,
    priority,
    version: 1,
    base_version: null,
    is_deleted: false,
    claim: undefined,
    created_at: now,
    updated_at: now,
  };
  checkMetadata(task);
  checkDependencies(desk, plan, task);
  checkRoom(desk, plan, column);
  tables.writeTask(task);
  tables.writePlan({ ...plan, next_position: plan.next_position + 1 });
  desk.noteTask(plan, task, "task_added");
  return task;
}

/** The SDK sends `backlog` if its agent gives no status, even if the plan has no such column. */
function startColumn(plan: Plan, status: string): Column {
  const [first] = plan.columns;
  const isDefault = status === "" || status === "backlog";
  const column = plan.columns.find(({ name }) => name === status) ?? (isDefault ? first : undefined);
  if (column === undefined) throw unknownColumn(plan, status);
  return column;
}

export function updateTask(desk: Desk, request: RequestOf<Calls["updateTask"]>): Task {
  const { plan, task } = desk.space.ownTask(request.task_id, request.plan_id);
  checkVersion(task, request.if_version);
  refuseIfClaimed(desk, task, request.claim_token);
  const changed: Task = { ...task, ...changedFields(task, request) };
  const changes = compareFields<TaskFields>(taskFields, task, changed);
  if (changes.length === 0) return task;

  const isMoved = changed.status !== task.status;
  if (isMoved) {
    const column = plan.columns.find(({ name }) => name === changed.status);
    if (column === undefined) throw unknownColumn(plan, changed.status);
    checkRoom(desk, plan, column);
  }
  checkMetadata(changed);
  if (changed.deps !== task.deps) checkDependencies(desk, plan, changed);
  const isFinished = isMoved && isDone(plan.columns, changed.status);
  const written: Task = {
    ...changed,
    version: task.version + 1,
    updated_at: desk.now,
    claim: isFinished ? undefined : task.claim,
  };
  desk.tables.writeTask(written);
  desk.noteTask(plan, written, "task_updated", changes);
  return written;
}

/**
 * A missing field and an empty one both mean unchanged, since the SDK always sends every field. Null clears the field.
 */
function changedFields(task: Task, request: RequestOf<Calls["updateTask"]>): TaskFields {
  const { title, status, description, assignee, deps, metadata, priority } = request;
  return {
    title: title === "" ? task.title : title,
    status: status === "" ? task.status : status,
    description: description === "" ? task.description : (description ?? ""),
    assignee: assignee === "" ? task.assignee : (assignee ?? ""),
    deps: deps?.length === 0 ? task.deps : [...new Set(deps ?? [])],
    metadata: metadata !== null && Object.keys(metadata).length === 0 ? task.metadata : (metadata ?? {}),
    priority: priority ?? task.priority,
  };
}

export function deleteTask(desk: Desk, request: RequestOf<Calls["deleteTask"]>): void {
  const { plan, task } = desk.space.ownTask(request.task_id, request.plan_id);
  checkVersion(task, request.if_version);
  refuseIfClaimed(desk, task, request.claim_token);
  const dependents: string[] = [];
  for (const [id, deps] of desk.tables.dependenciesOf(plan)) if (deps.includes(task.task_id)) dependents.push(id);
  if (dependents.length > 0) throw hasDependents(task.task_id, dependents);
  desk.tables.removeTask(task);
  desk.noteTask(plan, task, "task_deleted");
}

export function listTasks(
  { space, tables }: Desk,
  { plan_id, status, limit, offset }: RequestOf<Calls["listTasks"]>,
): { tasks: Task[]; total: number } {
  const plans = space.choose(plan_id);
  const total = tables.countTasks(plans, status);
  const [plan] = plans;
  // Within one plan, a status that is neither a column nor that of any task is a mistake. Across plans, some may have
  // it.
  if (total === 0 && plan_id !== "" && status !== "" && plan?.columns.every(({ name }) => name !== status))
    throw unknownColumn(plan, status);
  return { tasks: tables.listTasks(plans, status, limit, offset), total };
}

function checkVersion(task: Task, expected: number | undefined): void {
  if (expected !== undefined && expected !== task.version)
    throw changedMeanwhile(`task "${task.task_id}"`, expected, task.version);
}

function checkMetadata({ metadata }: Task): void {
  const { maxMetadataLength } = planningLimits;
  if (JSON.stringify(metadata).length > maxMetadataLength) throw metadataTooLong(maxMetadataLength);
}

function checkDependencies({ tables }: Desk, plan: Plan, { task_id, deps }: Task): void {
  if (deps.length === 0) return;
  const dependencies = new Map(tables.dependenciesOf(plan));
  const missing = deps.filter((id) => !dependencies.has(id));
  if (missing.length > 0) throw unknownDependency(missing);
  dependencies.set(task_id, deps);
  const cycle = findCycle([task_id], (id) => dependencies.get(id) ?? []);
  if (cycle !== undefined) throw dependencyCycle(cycle);
}

function checkRoom({ tables }: Desk, plan: Plan, { name, wip_limit }: Column): void {
  if (wip_limit > 0 && tables.countTasks([plan], name) >= wip_limit) throw columnFull(name, wip_limit);
}
