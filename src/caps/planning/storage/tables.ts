// Reads and writes rows; callers check permissions. Writes must run within `database.write`.
import type { Database, SqlRow, SqlStatement, SqlValue } from "../../../plugin/ports/database.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { planningLimits } from "../limits.ts";
import type { Claim, Plan, PlanSummary, Task } from "../model.ts";
import type { ChangeRecord } from "../protocol.ts";
import { type Column, doneNames } from "./columns.ts";
import { historyFields, migrations, planFields, taskRowFields } from "./schema.ts";

/** The approximate size of a task in an answer without its texts. */
const taskBytes = 400;
const textBytes = ["title", "description", "deps", "metadata"].map((field) => `length(CAST(task.${field} AS BLOB))`);
const taskSize = `${textBytes.join(" + ")} + ${taskBytes} AS size`;

/** Several plans, each with its overlay, as one parameter of a statement. */
const chosenPlans = `json_each(?) AS chosen JOIN planning_task AS task
  ON task.overlay = json_extract(chosen.value, '$[0]') AND task.plan_id = json_extract(chosen.value, '$[1]')
  AND task.is_deleted = 0`;

const allTables = ["planning_plan", "planning_task", "planning_history"];

export type PlanningTables = ReturnType<typeof openTables>;

export function openTables(database: Database, { maxHistory }: { maxHistory: number }) {
  database.migrate("planning", migrations);
  const statements = prepareAll(database);

  return {
    /** The row in the first of these overlays that has the plan, deleted or not. */
    nearestPlan(plan_id: string, overlays: readonly string[]): Plan | undefined {
      const row = statements.nearestPlan.get(JSON.stringify(overlays), plan_id);
      return row === undefined ? undefined : toPlan(row);
    },

    /** The rows in these overlays that an owner may see, nearest overlay first, deleted ones included. */
    plansFor(owner: string, overlays: readonly string[]): PlanSummary[] {
      return statements.plansFor.all(JSON.stringify(overlays), owner).map(toPlan);
    },

    descriptionOf: ({ overlay, plan_id }: PlanSummary): string =>
      statements.descriptionOf.get(overlay, plan_id)?.description as string,

    plansIn: (overlay: string): Plan[] => statements.plansIn.all(overlay).map(toPlan),
    isEmpty: (overlay: string): boolean => statements.plansIn.get(overlay) === undefined,

    /** Whether other overlays are based on this one, so that it must not be written to. */
    isFrozen: (overlay: string): boolean => statements.isFrozen.get(overlay) !== undefined,
    freeze: (overlay: string): void => void statements.freeze.run(overlay),

    countPlans: (owner: string, overlays: readonly string[]): number =>
      Number(statements.countPlans.get(JSON.stringify(overlays), owner)?.count),

    writePlan: (plan: Plan): void =>
      void statements.writePlan.run(
        ...planFields.map((field) => {
          if (field === "columns") return JSON.stringify(plan.columns);
          if (field === "is_shared" || field === "is_deleted") return Number(plan[field]);
          return plan[field];
        }),
      ),

    /** Removes a plan and everything that belongs to it from one overlay. */
    removePlan(overlay: string, plan_id: string): void {
      for (const statement of statements.removePlan) statement.run(overlay, plan_id);
    },

    /**
     * Copies a plan with its tasks and their history into an overlay. A copy from the parent stores the copied version
     * as its base version. A copy from an older overlay of the fork itself keeps its base versions and deletion marks.
     */
    copyPlan({ overlay, plan_id }: Plan, into: string, isOwn: boolean): void {
      for (const statement of isOwn ? statements.movePlan : statements.copyPlan) statement.run(into, overlay, plan_id);
    },

    /** The plan of a task, whether or not the caller may see it. */
    planOf(task_id: string): string | undefined {
      return statements.planOf.get(task_id)?.plan_id as string | undefined;
    },

    task({ overlay, plan_id }: Plan, task_id: string): Task | undefined {
      const row = statements.task.get(overlay, task_id, plan_id);
      return row === undefined ? undefined : toTask(row);
    },

    /** Deleted tasks included, since a merge needs them. */
    rowsOf: ({ overlay, plan_id }: Plan): Task[] => statements.rowsOf.all(overlay, plan_id).map(toTask),

    /** By plan in the given order, then by age. At most `limit`, and at most as many as fit into an answer. */
    listTasks(plans: readonly PlanSummary[], status: string, limit: number, offset: number): Task[] {
      const chosen = toChosen(plans);
      const fitting = countFitting(statements.taskSizes.all(chosen, status, status, limit, offset));
      return statements.listTasks.all(chosen, status, status, fitting, offset).map(toTask);
    },

    countTasks: (plans: readonly PlanSummary[], status: string): number =>
      Number(statements.countTasks.get(toChosen(plans), status, status)?.count),

    countByPlan(plans: readonly PlanSummary[]): ReadonlyMap<string, number> {
      const rows = statements.countByPlan.all(toChosen(plans));
      return new Map(rows.map(({ plan_id, count }) => [plan_id as string, Number(count)]));
    },

    /** At most `limit`, and at most as many as fit into an answer. */
    readyTasks(plans: readonly PlanSummary[], freeAt: number, limit: number): Task[] {
      const chosen = toChosen(plans);
      const fitting = limit === 1 ? 1 : countFitting(statements.readySizes.all(chosen, freeAt, limit));
      return statements.readyTasks.all(chosen, freeAt, fitting).map(toTask);
    },

    dependenciesOf({ overlay, plan_id }: Plan): ReadonlyMap<string, readonly string[]> {
      const rows = statements.dependenciesOf.all(overlay, plan_id);
      return new Map(rows.map(({ task_id, deps }) => [task_id as string, JSON.parse(deps as string) as string[]]));
    },

    writeTask: (task: Task): void =>
      void statements.writeTask.run(
        ...taskRowFields.map((field): SqlValue => {
          if (field === "deps" || field === "metadata") return JSON.stringify(task[field]);
          if (field === "claim") return task.claim === undefined ? "" : JSON.stringify(task.claim);
          if (field === "claim_expires_at") return task.claim?.expires_at ?? 0;
          return field === "is_deleted" ? Number(task.is_deleted) : task[field];
        }),
      ),

    /** A task that was copied into the overlay is marked as deleted, so that a merge can find the deletion. */
    removeTask(task: Task): void {
      statements.removeHistory.run(task.overlay, task.task_id);
      if (task.base_version === null) statements.removeTask.run(task.overlay, task.task_id);
      else this.writeTask({ ...task, is_deleted: true, claim: undefined });
    },

    addHistory({ overlay, task_id, plan_id }: Task, record: ChangeRecord): void {
      const last = Number(statements.lastHistory.get(overlay, task_id)?.number ?? 0);
      statements.addHistory.run(overlay, task_id, last + 1, plan_id, JSON.stringify(record));
      statements.trimHistory.run(overlay, task_id, last + 1 - maxHistory);
    },

    /** Newest first. */
    historyOf: ({ overlay, task_id }: Task, limit: number): ChangeRecord[] =>
      statements.historyOf
        .all(overlay, task_id, limit)
        .map(({ record }) => JSON.parse(record as string) as ChangeRecord),
  };
}

function prepareAll(database: Database) {
  const sql = (text: string): SqlStatement => database.prepare(text);
  const upsert = (table: string, key: string, fields: readonly string[]) =>
    sql(
      `INSERT INTO ${table} (${fields.join(", ")}) VALUES (${fields.map(() => "?").join(", ")})
       ON CONFLICT (overlay, ${key}) DO UPDATE SET ${fields.map((field) => `${field} = excluded.${field}`).join(", ")}`,
    );
  const copies = (replaced: Readonly<Record<string, string>>, condition: string) =>
    [
      { table: "planning_plan", fields: planFields, condition },
      { table: "planning_task", fields: taskRowFields, condition },
      { table: "planning_history", fields: historyFields, condition: "" },
    ].map(({ table, fields, condition }) => {
      const selected = fields.map((field) => replaced[field] ?? field);
      return sql(
        `INSERT INTO ${table} (${fields.join(", ")}) SELECT ${selected.join(", ")} FROM ${table} WHERE overlay = ? AND plan_id = ? ${condition}`,
      );
    });
  const listed = (columns: string) =>
    sql(
      `SELECT ${columns} FROM ${chosenPlans} WHERE (? = '' OR task.status = ?) ORDER BY chosen.key, task.position LIMIT ? OFFSET ?`,
    );
  const ready = (columns: string) =>
    sql(
      `SELECT ${columns} FROM ${chosenPlans}
       WHERE task.claim_expires_at <= ?
         AND task.status NOT IN (SELECT value FROM json_each(chosen.value, '$[2]'))
         AND NOT EXISTS (
           SELECT 1 FROM json_each(task.deps) AS dep JOIN planning_task AS needed
             ON needed.overlay = task.overlay AND needed.task_id = dep.value AND needed.is_deleted = 0
           WHERE needed.status NOT IN (SELECT value FROM json_each(chosen.value, '$[2]')))
       ORDER BY task.priority, task.created_at, chosen.key, task.position LIMIT ?`,
    );
  const summary = planFields.filter((field) => field !== "description").map((field) => `planning_plan.${field}`);
  return {
    nearestPlan: sql(
      "SELECT planning_plan.* FROM json_each(?) AS layer JOIN planning_plan ON overlay = layer.value AND plan_id = ? ORDER BY layer.key LIMIT 1",
    ),
    plansFor: sql(
      `SELECT ${summary.join(", ")} FROM json_each(?) AS layer JOIN planning_plan ON overlay = layer.value WHERE owner = ? OR is_shared = 1 ORDER BY layer.key, created_at, planning_plan.rowid`,
    ),
    descriptionOf: sql("SELECT description FROM planning_plan WHERE overlay = ? AND plan_id = ?"),
    plansIn: sql("SELECT * FROM planning_plan WHERE overlay = ? ORDER BY created_at, rowid"),
    isFrozen: sql("SELECT 1 FROM planning_frozen WHERE overlay = ?"),
    freeze: sql("INSERT OR IGNORE INTO planning_frozen (overlay) VALUES (?)"),
    countPlans: sql(
      "SELECT count(DISTINCT plan_id) AS count FROM planning_plan WHERE overlay IN (SELECT value FROM json_each(?)) AND owner = ? AND is_deleted = 0",
    ),
    writePlan: upsert("planning_plan", "plan_id", planFields),
    removePlan: allTables.map((table) => sql(`DELETE FROM ${table} WHERE overlay = ? AND plan_id = ?`)),
    copyPlan: copies({ overlay: "?", base_version: "version" }, "AND is_deleted = 0"),
    movePlan: copies({ overlay: "?" }, ""),
    planOf: sql("SELECT plan_id FROM planning_task WHERE task_id = ? LIMIT 1"),
    task: sql("SELECT * FROM planning_task WHERE overlay = ? AND task_id = ? AND plan_id = ? AND is_deleted = 0"),
    rowsOf: sql("SELECT * FROM planning_task WHERE overlay = ? AND plan_id = ? ORDER BY position"),
    listTasks: listed("task.*"),
    taskSizes: listed(taskSize),
    countTasks: sql(`SELECT count(*) AS count FROM ${chosenPlans} WHERE (? = '' OR task.status = ?)`),
    countByPlan: sql(`SELECT task.plan_id, count(*) AS count FROM ${chosenPlans} GROUP BY task.plan_id`),
    readyTasks: ready("task.*"),
    readySizes: ready(taskSize),
    dependenciesOf: sql("SELECT task_id, deps FROM planning_task WHERE overlay = ? AND plan_id = ? AND is_deleted = 0"),
    writeTask: upsert("planning_task", "task_id", taskRowFields),
    removeTask: sql("DELETE FROM planning_task WHERE overlay = ? AND task_id = ?"),
    lastHistory: sql("SELECT max(number) AS number FROM planning_history WHERE overlay = ? AND task_id = ?"),
    addHistory: sql("INSERT INTO planning_history (overlay, task_id, number, plan_id, record) VALUES (?, ?, ?, ?, ?)"),
    trimHistory: sql("DELETE FROM planning_history WHERE overlay = ? AND task_id = ? AND number <= ?"),
    removeHistory: sql("DELETE FROM planning_history WHERE overlay = ? AND task_id = ?"),
    historyOf: sql(
      "SELECT record FROM planning_history WHERE overlay = ? AND task_id = ? ORDER BY number DESC LIMIT ?",
    ),
  };
}

/** The number of rows that fit into an answer, at least one. */
function countFitting(rows: readonly SqlRow[]): number {
  let room: number = planningLimits.maxAnswerBytes;
  const last = rows.findIndex(({ size }) => {
    room -= size as number;
    return room < 0;
  });
  return last < 0 ? rows.length : Math.max(1, last);
}

function toChosen(plans: readonly PlanSummary[]): string {
  return JSON.stringify(plans.map(({ overlay, plan_id, columns }) => [overlay, plan_id, doneNames(columns)]));
}

function toPlan(row: SqlRow): Plan {
  return {
    ...(row as unknown as Plan),
    columns: JSON.parse(row.columns as string) as Column[],
    is_shared: row.is_shared === 1,
    is_deleted: row.is_deleted === 1,
  };
}

function toTask({ claim_expires_at: _, ...row }: SqlRow): Task {
  return {
    ...(row as unknown as Task),
    deps: JSON.parse(row.deps as string) as string[],
    metadata: JSON.parse(row.metadata as string) as JsonObject,
    claim: row.claim === "" ? undefined : (JSON.parse(row.claim as string) as Claim),
    is_deleted: row.is_deleted === 1,
  };
}
