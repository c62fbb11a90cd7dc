// The tables of this capability. A plan and all its tasks are in the same overlay: that of the session that last wrote
// to it.

export const migrations: readonly string[] = [
  `CREATE TABLE planning_plan (
     overlay TEXT NOT NULL, plan_id TEXT NOT NULL,
     owner TEXT NOT NULL, owner_name TEXT NOT NULL, is_shared INTEGER NOT NULL,
     name TEXT NOT NULL, description TEXT NOT NULL, columns TEXT NOT NULL, next_position INTEGER NOT NULL,
     version INTEGER NOT NULL, base_version INTEGER, is_deleted INTEGER NOT NULL,
     created_at REAL NOT NULL, updated_at REAL NOT NULL,
     PRIMARY KEY (overlay, plan_id)
   ) STRICT;
   CREATE INDEX planning_plan_owner ON planning_plan (owner, overlay);
   CREATE INDEX planning_plan_shared ON planning_plan (overlay) WHERE is_shared = 1;
   CREATE TABLE planning_task (
     overlay TEXT NOT NULL, task_id TEXT NOT NULL, plan_id TEXT NOT NULL, position INTEGER NOT NULL,
     title TEXT NOT NULL, status TEXT NOT NULL, description TEXT NOT NULL, assignee TEXT NOT NULL,
     deps TEXT NOT NULL, metadata TEXT NOT NULL, priority INTEGER NOT NULL,
     version INTEGER NOT NULL, base_version INTEGER, is_deleted INTEGER NOT NULL,
     claim TEXT NOT NULL, claim_expires_at REAL NOT NULL,
     created_at REAL NOT NULL, updated_at REAL NOT NULL,
     PRIMARY KEY (overlay, task_id)
   ) STRICT;
   CREATE INDEX planning_task_plan ON planning_task (overlay, plan_id, position);
   CREATE INDEX planning_task_id ON planning_task (task_id);
   CREATE TABLE planning_history (
     overlay TEXT NOT NULL, task_id TEXT NOT NULL, number INTEGER NOT NULL, plan_id TEXT NOT NULL, record TEXT NOT NULL,
     PRIMARY KEY (overlay, task_id, number)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE planning_frozen (overlay TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
   CREATE INDEX planning_history_plan ON planning_history (overlay, plan_id);`,
  // Overlays, and agents without a name, with the time of their last use by a session.
  "CREATE TABLE planning_use (name TEXT PRIMARY KEY, used_at REAL NOT NULL) STRICT, WITHOUT ROWID;",
];

export const planFields = [
  "overlay",
  "plan_id",
  "owner",
  "owner_name",
  "is_shared",
  "name",
  "description",
  "columns",
  "next_position",
  "version",
  "base_version",
  "is_deleted",
  "created_at",
  "updated_at",
] as const;

export const taskRowFields = [
  "overlay",
  "task_id",
  "plan_id",
  "position",
  "title",
  "status",
  "description",
  "assignee",
  "deps",
  "metadata",
  "priority",
  "version",
  "base_version",
  "is_deleted",
  "claim",
  "claim_expires_at",
  "created_at",
  "updated_at",
] as const;

export const historyFields = ["overlay", "task_id", "number", "plan_id", "record"] as const;
