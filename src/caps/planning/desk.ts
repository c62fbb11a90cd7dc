// The context of one request: the plans that its session sees, its time, and the changes that it makes.
import type { JsonValue } from "../../protocol/json.ts";
import { planningLimits } from "./limits.ts";
import type { Plan, Task } from "./model.ts";
import type { ParsedPlanningOptions } from "./options.ts";
import type { ChangeRecord, FieldChange } from "./protocol.ts";
import type { PlanSpace } from "./storage/plan-space.ts";
import type { PlanningTables } from "./storage/tables.ts";
import type { Note } from "./watchers.ts";

export interface DeskOptions {
  tables: PlanningTables;
  space: PlanSpace;
  options: ParsedPlanningOptions;
  now: number;
  nextId: () => string;
}

export class Desk {
  readonly tables: PlanningTables;
  readonly space: PlanSpace;
  readonly options: ParsedPlanningOptions;
  readonly now: number;
  readonly nextId: () => string;
  readonly notes: Note[] = [];

  constructor({ tables, space, options, now, nextId }: DeskOptions) {
    this.tables = tables;
    this.space = space;
    this.options = options;
    this.now = now;
    this.nextId = nextId;
  }

  notePlan(plan: Plan, kind: ChangeRecord["kind"], changes: FieldChange[] = [], isHiding = false): void {
    this.notes.push({ plan, task_id: "", record: this.#record(kind, plan.version, changes), isHiding });
  }

  /** Adds the change to the history of the task. The history of a deleted task is deleted with it. */
  noteTask(plan: Plan, task: Task, kind: ChangeRecord["kind"], changes: FieldChange[] = []): void {
    const record = this.#record(kind, task.version, changes);
    if (kind !== "task_deleted") this.tables.addHistory(task, record);
    this.notes.push({ plan, task_id: task.task_id, record });
  }

  #record(kind: ChangeRecord["kind"], version: number, changes: FieldChange[]): ChangeRecord {
    return { kind, by: this.space.viewer.name, at: this.now / 1000, version, changes };
  }
}

/** The fields in which two values differ, with long values cut. */
export function compareFields<Value extends object>(
  fields: readonly (keyof Value & string)[],
  before: Value,
  after: Value,
): FieldChange[] {
  return fields.flatMap((field) => {
    const [from, to] = [JSON.stringify(before[field]), JSON.stringify(after[field])];
    return from === to ? [] : [{ field, from: cut(from), to: cut(to) }];
  });
}

function cut(json: string): JsonValue {
  const { maxHistoryValueLength } = planningLimits;
  return json.length <= maxHistoryValueLength
    ? (JSON.parse(json) as JsonValue)
    : `${json.slice(0, maxHistoryValueLength)}…`;
}
