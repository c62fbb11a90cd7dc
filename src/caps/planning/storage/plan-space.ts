// The plans that one session can see: those of its agent and shared ones. A fork's own copy of a plan hides the copies
// below.
import { fail } from "../../../protocol/errors.ts";
import { ground, type Plan, type PlanSummary, type Task } from "../model.ts";
import { unknownPlan, unknownTask } from "../problems.ts";
import type { Viewer } from "../viewer.ts";
import type { PlanningTables } from "./tables.ts";

export class PlanSpace {
  readonly viewer: Viewer;
  readonly #tables: PlanningTables;

  constructor(tables: PlanningTables, viewer: Viewer) {
    this.#tables = tables;
    this.viewer = viewer;
  }

  mayRead({ owner, is_shared }: Plan): boolean {
    return is_shared || owner === this.viewer.owner;
  }

  /** Whether the session sees this row of the plan, or saw it until it was deleted. */
  isSeen(plan: Plan): boolean {
    const { overlays } = this.viewer;
    const depth = overlays.indexOf(plan.overlay);
    if (depth < 0 || !this.mayRead(plan)) return false;
    return depth === 0 || this.#tables.nearestPlan(plan.plan_id, overlays.slice(0, depth)) === undefined;
  }

  find(plan_id: string): Plan | undefined {
    const plan = this.#tables.nearestPlan(plan_id, this.viewer.overlays);
    return plan !== undefined && !plan.is_deleted && this.mayRead(plan) ? plan : undefined;
  }

  plan(plan_id: string): Plan {
    return this.find(plan_id) ?? fail(unknownPlan(plan_id));
  }

  /** Oldest first. */
  plans(): PlanSummary[] {
    const nearest = new Map<string, PlanSummary>();
    const rows = this.#tables.plansFor(this.viewer.owner, this.viewer.overlays);
    for (const plan of rows) if (!nearest.has(plan.plan_id)) nearest.set(plan.plan_id, plan);
    const seen = [...nearest.values()].filter(({ is_deleted }) => !is_deleted);
    return seen.sort((one, other) => one.created_at - other.created_at);
  }

  /** The plan with this id, or all plans for an empty id. */
  choose(plan_id: string): PlanSummary[] {
    return plan_id === "" ? this.plans() : [this.plan(plan_id)];
  }

  /** Finds a task; an empty `plan_id` means any plan. */
  task(task_id: string, plan_id = ""): { plan: Plan; task: Task } {
    if (plan_id !== "") this.plan(plan_id);
    const home = this.#tables.planOf(task_id);
    const plan = home === undefined || (plan_id !== "" && plan_id !== home) ? undefined : this.find(home);
    const task = plan === undefined ? undefined : this.#tables.task(plan, task_id);
    if (plan === undefined || task === undefined) throw unknownTask(task_id, plan_id);
    return { plan, task };
  }

  /** The overlay that this session writes to. */
  get overlay(): string {
    return this.viewer.overlays[0] ?? ground;
  }

  /** Returns the plan for writing: copies it into the session's own overlay if it is not there yet. */
  own(plan_id: string): Plan {
    const plan = this.plan(plan_id);
    if (plan.overlay === this.overlay) return plan;
    this.#tables.copyPlan(plan, this.overlay, this.viewer.own.includes(plan.overlay));
    return this.plan(plan_id);
  }

  ownTask(task_id: string, plan_id = ""): { plan: Plan; task: Task } {
    this.own(this.task(task_id, plan_id).plan.plan_id);
    return this.task(task_id, plan_id);
  }
}
