// Merges the plans of a fork into its parent session. An item that both changed stays as it is in the parent and is
// reported; a plan that would be inconsistent afterwards is not merged at all. The fork keeps its copies, with the
// merged version as their new base, so that a later merge finds later changes only.

import { findCycle } from "../../machinery/find-cycle.ts";
import type { Database } from "../../plugin/ports/database.ts";
import { compareFields, type Desk } from "./desk.ts";
import { liveClaim, type Plan, type Task, type TaskFields, taskFields } from "./model.ts";
import { removePlan } from "./plan-calls.ts";
import type { PlanSpace } from "./storage/plan-space.ts";

export interface MergeReport {
  /** Plans and tasks that were added, changed or deleted. */
  readonly merged: number;
  /** `<plan_id>/<task_id>: <reason>`, or `<plan_id>: <reason>` for the plan itself. */
  readonly conflicts: string[];
}

type Conflict =
  | "changed by both"
  | "changed here and deleted by the fork"
  | "deleted here and changed by the fork"
  | "claimed by another session"
  | "the host allows no more plans"
  | "the host allows no more tasks";

/** Must run within `database.write`. */
export function mergePlans(desk: Desk, fork: PlanSpace, database: Database): MergeReport {
  const conflicts: string[] = [];
  let merged = 0;
  for (const plan of ownPlans(desk, fork)) {
    const told = desk.notes.length;
    try {
      const merge = new PlanMerge(desk, fork, plan.plan_id);
      database.write(() => merge.run(plan));
      merged += merge.merged;
      conflicts.push(...merge.conflicts);
    } catch (error) {
      if (!(error instanceof UnsoundPlan)) throw error;
      desk.notes.length = told;
      conflicts.push(error.message);
    }
  }
  return { merged, conflicts };
}

/** The nearest row of every plan that the fork wrote to, deleted plans included. */
function ownPlans({ tables }: Desk, { viewer }: PlanSpace): Iterable<Plan> {
  const nearest = new Map<string, Plan>();
  for (const overlay of viewer.own)
    for (const plan of tables.plansIn(overlay)) if (!nearest.has(plan.plan_id)) nearest.set(plan.plan_id, plan);
  return nearest.values();
}

/** Thrown to roll back the merge of a plan: each side may be consistent, and both together not. */
class UnsoundPlan extends Error {}

class PlanMerge {
  readonly conflicts: string[] = [];
  merged = 0;
  readonly #desk: Desk;
  readonly #fork: PlanSpace;
  readonly #planId: string;

  constructor(desk: Desk, fork: PlanSpace, planId: string) {
    this.#desk = desk;
    this.#fork = fork;
    this.#planId = planId;
  }

  run(plan: Plan): void {
    const { space } = this.#desk;
    const target = space.find(plan.plan_id);
    if (target === undefined) return plan.base_version === null ? this.#addPlan() : this.#lostPlan(plan);
    if (plan.is_deleted) return this.#deletePlan(plan, target);
    const copy = this.#fork.own(plan.plan_id);
    this.#changePlan(copy, target);
    for (const task of this.#desk.tables.rowsOf(copy)) this.#changeTask(task);
    this.#refuseUnsound();
  }

  #conflict(kind: Conflict, task_id?: string): void {
    this.conflicts.push(`${this.#planId}${task_id === undefined ? "" : `/${task_id}`}: ${kind}`);
  }

  #addPlan(): void {
    const { tables, space, options } = this.#desk;
    const { overlay, viewer } = space;
    if (tables.countPlans(viewer.owner, viewer.overlays) >= options.max_plans)
      return this.#conflict("the host allows no more plans");
    const copy = this.#fork.own(this.#planId);
    const added: Plan = { ...copy, overlay, owner: viewer.owner, owner_name: viewer.name };
    tables.writePlan(added);
    tables.writePlan({ ...copy, base_version: copy.version });
    for (const task of tables.rowsOf(copy)) {
      tables.writeTask({ ...task, overlay, claim: undefined });
      tables.writeTask({ ...task, base_version: task.version });
    }
    this.#desk.notePlan(added, "plan_created");
    this.merged += 1;
  }

  /** The plan was deleted in the parent or is no longer visible to its agent. The fork must not bring it back. */
  #lostPlan(plan: Plan): void {
    if (plan.is_deleted) return;
    const isChanged = (row: Plan | Task) => row.is_deleted || row.version !== row.base_version;
    if (isChanged(plan) || this.#desk.tables.rowsOf(plan).some(isChanged))
      this.#conflict("deleted here and changed by the fork");
  }

  #deletePlan(plan: Plan, target: Plan): void {
    const { tables } = this.#desk;
    const bases = new Map(tables.rowsOf(plan).map(({ task_id, base_version }) => [task_id, base_version]));
    const isChanged =
      target.version !== plan.base_version ||
      tables.rowsOf(target).some(({ task_id, version, is_deleted }) => !is_deleted && bases.get(task_id) !== version);
    if (isChanged) return this.#conflict("changed here and deleted by the fork");
    removePlan(this.#desk, target);
    this.merged += 1;
  }

  #changePlan(copy: Plan, target: Plan): void {
    if (copy.version === copy.base_version) return;
    const fields = ["name", "description", "columns", "is_shared"] as const;
    const changes = compareFields<Plan>(fields, target, copy);
    if (changes.length === 0) return;
    if (target.version !== copy.base_version) return this.#conflict("changed by both");
    const { tables, space, now } = this.#desk;
    const { name, description, columns, is_shared } = copy;
    const version = Math.max(target.version, copy.version) + 1;
    const own = space.own(this.#planId);
    const written: Plan = { ...own, name, description, columns, is_shared, version, updated_at: now };
    tables.writePlan(written);
    tables.writePlan({ ...copy, version, base_version: version });
    this.#desk.notePlan(written, "plan_updated", changes);
    this.merged += 1;
  }

  #changeTask(task: Task): void {
    if (!task.is_deleted && task.version === task.base_version) return;
    const { tables, space, now } = this.#desk;
    const plan = space.plan(this.#planId);
    const before = tables.task(plan, task.task_id);
    if (before === undefined) return this.#addTask(task);
    if (!task.is_deleted && compareFields<TaskFields>(taskFields, before, task).length === 0) return;
    if (before.version !== task.base_version)
      return this.#conflict(task.is_deleted ? "changed here and deleted by the fork" : "changed by both", task.task_id);
    const claim = liveClaim(before, now);
    if (claim !== undefined && claim.worker !== space.viewer.worker)
      return this.#conflict("claimed by another session", task.task_id);
    this.#replaceTask(task);
  }

  #addTask(task: Task): void {
    if (task.is_deleted) return;
    if (task.base_version !== null) return this.#conflict("deleted here and changed by the fork", task.task_id);
    const { tables, space, options } = this.#desk;
    const plan = space.own(this.#planId);
    if (tables.countTasks([plan], "") >= options.max_tasks)
      return this.#conflict("the host allows no more tasks", task.task_id);
    const added: Task = { ...task, overlay: plan.overlay, position: plan.next_position, claim: undefined };
    tables.writeTask(added);
    tables.writePlan({ ...plan, next_position: plan.next_position + 1 });
    tables.writeTask({ ...task, base_version: task.version });
    this.#desk.noteTask(plan, added, "task_merged");
    this.merged += 1;
  }

  #replaceTask(task: Task): void {
    const { tables, space, now } = this.#desk;
    const { plan, task: before } = space.ownTask(task.task_id, this.#planId);
    this.merged += 1;
    if (task.is_deleted) {
      tables.removeTask(before);
      return this.#desk.noteTask(plan, before, "task_deleted");
    }
    const { title, status, description, assignee, deps, metadata, priority } = task;
    const fields: TaskFields = { title, status, description, assignee, deps, metadata, priority };
    // Higher than the versions of both sides, so that neither confuses an old version with a new one.
    const version = Math.max(before.version, task.version) + 1;
    const written: Task = { ...before, ...fields, version, updated_at: now };
    tables.writeTask(written);
    tables.writeTask({ ...task, version, base_version: version });
    this.#desk.noteTask(plan, written, "task_merged", compareFields<TaskFields>(taskFields, before, written));
  }

  #refuseUnsound(): void {
    if (this.merged === 0) return;
    const { tables, space } = this.#desk;
    const dependencies = tables.dependenciesOf(space.plan(this.#planId));
    for (const [task_id, deps] of dependencies) {
      const place = `${this.#planId}/${task_id}`;
      if (deps.some((id) => !dependencies.has(id))) throw new UnsoundPlan(`${place}: depends on a task that is gone`);
    }
    const cycle = findCycle(dependencies.keys(), (id) => dependencies.get(id) ?? []);
    if (cycle !== undefined)
      throw new UnsoundPlan(`${this.#planId}/${cycle[0]}: would wait for itself (${cycle.join(" → ")})`);
  }
}
