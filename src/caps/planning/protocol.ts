import * as z from "zod";
import { jsonObject, jsonValue } from "../../protocol/json.ts";
import { call, capability, push } from "../../protocol/table/capability.ts";

/** Limits of a request; the other limits of this capability are options of the host. */
export const messageLimits = {
  maxColumns: 64,
  /** Characters of an id, and of the name of a plan, a column or an assignee. */
  maxNameLength: 200,
  maxTitleLength: 500,
  maxDescriptionLength: 20_000,
  /** Dependencies of one task. */
  maxDependencies: 200,
  /** Tasks in one answer of list and ready. */
  maxListed: 1000,
} as const satisfies Record<string, number>;
const id = z.string().max(messageLimits.maxNameLength);

/** Text that SQLite stores unchanged: it would end the text at a NUL and replace lone surrogates. */
const keptText = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine(
      (text) => !text.includes("\0") && !/\p{Surrogate}/u.test(text),
      "expected text without NUL characters and lone surrogates",
    );

const name = keptText(messageLimits.maxNameLength);
const title = keptText(messageLimits.maxTitleLength);
const description = keptText(messageLimits.maxDescriptionLength);
const columnName = name.refine(
  (given) => given.trim() !== "" && given !== "__proto__",
  "expected the name of a column",
);

const columnSettings = z.object({
  name: columnName,
  wip_limit: z.int().min(0).default(0).describe("The maximum number of tasks in this column; 0 means no limit."),
  is_done: z.boolean().default(false).describe("Tasks in this column count as done."),
});

export const columnList = z
  .array(z.union([columnName, columnSettings]))
  .max(messageLimits.maxColumns)
  .describe(
    "Names, or objects with settings. If no column has `is_done`, the column `done` is the done column, or else the last column.",
  );

const claim = z.object({ by: z.string(), expires_at: z.number() });

const task = z.object({
  task_id: z.string(),
  plan_id: z.string(),
  title: z.string(),
  status: z.string().describe("The name of its column."),
  description: z.string(),
  assignee: z.string(),
  deps: z.array(z.string()).describe("Tasks of the same plan that must be done first."),
  metadata: jsonObject,
  priority: z.int().describe("0 is the most urgent, 4 the least."),
  version: z.int().describe("Increased by every change; `if_version` is compared with it."),
  created_at: z.number(),
  updated_at: z.number(),
  claim: claim
    .optional()
    .describe("The agent that has claimed the task, and until when; missing if the task is not claimed."),
});

const plan = z.object({
  plan_id: z.string(),
  name: z.string(),
  description: z.string(),
  columns: z.array(z.string()),
  column_details: z.array(columnSettings),
  owner: z.string().describe("The agent that created the plan; empty for an agent without a name."),
  shared: z.boolean().describe("Whether every agent of the host can see and change the plan."),
  task_count: z.int(),
  version: z.int(),
  created_at: z.number(),
  updated_at: z.number(),
});

const board = z.object({
  plan_id: z.string(),
  name: z.string(),
  columns: z
    .record(z.string(), z.array(task))
    .describe("Tasks by column. If a column was removed while it had tasks, its name is an additional key."),
  column_details: z.array(columnSettings).describe("The columns in their order."),
  task_count: z.int(),
});

const fieldChange = z.object({ field: z.string(), from: jsonValue.nullable(), to: jsonValue.nullable() });

const changeKinds = [
  "plan_created",
  "plan_updated",
  "plan_deleted",
  "task_added",
  "task_updated",
  "task_deleted",
  "task_claimed",
  "task_released",
  "task_merged",
] as const;

const changeRecord = z.object({
  kind: z.enum(changeKinds),
  by: z.string().describe("The agent that made the change; empty for an agent without a name."),
  at: z.number(),
  version: z.int().describe("The version of the task or of the plan after the change."),
  changes: z.array(fieldChange).default([]).describe("Long values are cut."),
});

export type TaskView = z.output<typeof task>;
export type PlanView = z.output<typeof plan>;
export type BoardView = z.output<typeof board>;
export type ChangeRecord = z.output<typeof changeRecord>;
export type FieldChange = z.output<typeof fieldChange>;

const deps = z.array(id).max(messageLimits.maxDependencies);
const priority = z.int().min(0).max(4);
const ifVersion = z.int().optional().describe("Fail with `task_changed` unless this is the current version.");
const claimToken = id.default("").describe("The token of the claim. The session that made the claim may leave it out.");
const leaseSeconds = z
  .number()
  .min(0)
  .default(0)
  .describe("0 means the default of the host, which also sets a maximum.");
const page = {
  limit: z.int().min(1).max(messageLimits.maxListed).default(messageLimits.maxListed),
  offset: z.int().min(0).default(0),
};

const total = z
  .int()
  .describe(
    "The number before the limit. An answer may have fewer items than requested: continue at `offset` plus the number of items.",
  );

export const planChanged = push("planning/changed", {
  doc: "A plan that this session watches was changed by another session. An extension of ours.",
  payload: z.object({
    plan_id: z.string(),
    task_id: z.string().default(""),
    // A message already has a top-level field `version`: the version of the protocol.
    new_version: changeRecord.shape.version,
    ...changeRecord.omit({ version: true }).shape,
  }),
  example: {
    plan_id: "0f5a1c0d5b9e4c8f0000000000000001",
    task_id: "0f5a1c0d5b9e4c8f0000000000000002",
    kind: "task_updated",
    by: "builder",
    at: 1789000000.5,
    new_version: 2,
    changes: [{ field: "status", from: "todo", to: "done" }],
  },
});

const planId = "0f5a1c0d5b9e4c8f0000000000000001";
const taskId = "0f5a1c0d5b9e4c8f0000000000000002";
const exampleColumns = [{ name: "todo" }, { name: "doing", wip_limit: 3 }, { name: "done", is_done: true }];
const examplePlan = {
  plan_id: planId,
  name: "release",
  description: "",
  columns: ["todo", "doing", "done"],
  column_details: exampleColumns,
  owner: "lead",
  shared: true,
  task_count: 1,
  version: 1,
  created_at: 1789000000.5,
  updated_at: 1789000000.5,
};
const exampleTask = {
  task_id: taskId,
  plan_id: planId,
  title: "write the notes",
  status: "todo",
  description: "",
  assignee: "",
  deps: [],
  metadata: {},
  priority: 2,
  version: 1,
  created_at: 1789000000.5,
  updated_at: 1789000000.5,
};
const exampleLease = {
  success: true,
  task_id: taskId,
  token: "0f5a1c0d5b9e4c8f0000000000000003",
  expires_at: 1789000300.5,
};

export const planning = capability("planning", {
  doc: "Plans of tasks on boards, for one agent or several: dependencies, ready tasks, and claims that expire.",
  errors: {
    unknown_plan: { retryable: false, doc: "This agent has no plan with this id, nor is such a plan shared with it." },
    unknown_task: { retryable: false, doc: "No plan that this agent can see has a task with this id." },
    unknown_column: { retryable: false, doc: "The plan has no such column; `detail.columns` lists its columns." },
    unknown_dependency: {
      retryable: false,
      doc: "A task of `deps` is not in the plan; `detail.missing` lists such tasks.",
    },
    dependency_cycle: {
      retryable: false,
      doc: "The task would depend on itself; `detail.cycle` lists the tasks of the cycle.",
    },
    has_dependents: { retryable: false, doc: "Other tasks depend on this one; `detail.dependents` lists them." },
    column_full: { retryable: true, doc: "The column has as many tasks as its `wip_limit` allows." },
    plan_full: { retryable: false, doc: "A limit of the host is reached; `detail.limit` names it." },
    task_changed: {
      retryable: true,
      doc: "The version is no longer `if_version`; `detail.version` is the current version.",
    },
    task_not_ready: {
      retryable: true,
      doc: "The task is not ready, or no task is; `detail.waiting_for` lists the tasks that must be done first.",
    },
    claim_conflict: { retryable: true, doc: "Another session has claimed this task, until `detail.expires_at`." },
    claim_lost: { retryable: false, doc: "The claim has expired, was released, or belongs to another agent." },
  },
  resources: { plan: "A plan, by its plan_id." },
  calls: {
    createPlan: call("planning/plan/create", "planning/plan/create/resp", {
      asTool: { effect: "adds" },
      about: { access: "write" },
      doc: "Creates a plan. Without columns it gets the default columns of the host: backlog, todo, in_progress, done.",
      request: z.object({
        name: name.default("default"),
        columns: columnList.default([]),
        description: description.default(""),
        shared: z
          .boolean()
          .optional()
          .describe(
            "Share the plan with every agent of the host. Without it, the option `shared` of the host decides.",
          ),
      }),
      result: z.object({ success: z.boolean(), plan_id: z.string(), columns: z.array(z.string()), plan }),
      example: {
        request: { name: "release", columns: ["todo", { name: "doing", wip_limit: 3 }, "done"], shared: true },
        result: { success: true, plan_id: planId, columns: ["todo", "doing", "done"], plan: examplePlan },
      },
    }),
    listPlans: call("planning/plan/list", "planning/plan/list/resp", {
      asTool: { effect: "reads" },
      about: { access: "read", resource: "plan", shows: { at: "plans", name: "plan_id" } },
      doc: "Lists the plans that this agent can see, oldest first.",
      request: z.object(page),
      result: z.object({ plans: z.array(plan), total }),
      example: { request: {}, result: { plans: [examplePlan], total: 1 } },
    }),
    board: call("planning/plan/board", "planning/plan/board/resp", {
      asTool: { effect: "reads" },
      about: { access: "read", resource: "plan", from: "plan_id" },
      doc: "Returns the tasks of a plan by column; without a plan, the boards of all plans.",
      request: z.object({ plan_id: id.default("") }),
      result: z.object({
        boards: z.array(board),
        truncated: z
          .boolean()
          .optional()
          .describe("True if not all tasks fit; `planning/task/list` returns them in pages."),
      }),
      example: {
        request: { plan_id: planId },
        result: {
          boards: [
            {
              plan_id: planId,
              name: "release",
              columns: { todo: [exampleTask], doing: [], done: [] },
              column_details: exampleColumns,
              task_count: 1,
            },
          ],
        },
      },
    }),
    updatePlan: call("planning/plan/update", "planning/plan/update/resp", {
      asTool: { effect: "destroys" },
      about: { access: "write", resource: "plan", from: "plan_id" },
      doc: "Changes a plan. Missing and empty fields stay unchanged, null clears a field. Only its owner may share it. An extension of ours.",
      request: z.object({
        plan_id: id,
        name: name.default(""),
        description: description.nullable().default(""),
        columns: columnList.default([]),
        shared: z.boolean().optional(),
        if_version: ifVersion,
      }),
      result: z.object({ success: z.boolean(), plan_id: z.string(), plan }),
      example: {
        request: { plan_id: planId, description: null },
        result: { success: true, plan_id: planId, plan: examplePlan },
      },
    }),
    deletePlan: call("planning/plan/delete", "planning/plan/delete/resp", {
      asTool: { effect: "destroys" },
      about: { access: "write", resource: "plan", from: "plan_id" },
      doc: "Deletes a plan with all its tasks. Only its owner may do so. An extension of ours.",
      request: z.object({ plan_id: id }),
      result: z.object({ success: z.boolean(), plan_id: z.string() }),
      example: { request: { plan_id: planId }, result: { success: true, plan_id: planId } },
    }),
    watchPlan: call("planning/plan/watch", "planning/plan/watch/resp", {
      about: { access: "read", resource: "plan", from: "plan_id" },
      doc: "Starts or stops sending planning/changed to this session. An extension of ours.",
      request: z.object({
        plan_id: id
          .default("")
          .describe("Without it, every plan that this agent can see, including plans created later."),
        watch: z.boolean().default(true),
      }),
      result: z.object({
        success: z.boolean(),
        watching: z.array(z.string()).describe("Ids of the watched plans; an empty id stands for every plan."),
      }),
      example: { request: { plan_id: planId }, result: { success: true, watching: [planId] } },
    }),
    addTask: call("planning/task/add", "planning/task/add/resp", {
      asTool: { effect: "adds" },
      about: { access: "write", resource: "plan", from: "plan_id" },
      doc: "Adds a task to a plan.",
      request: z.object({
        plan_id: id,
        title: title.min(1),
        status: name
          .default("backlog")
          .describe("A column. `backlog` stands for the first column if the plan has no column of that name."),
        description: description.default(""),
        assignee: name.default(""),
        deps: deps.default([]),
        metadata: jsonObject.default({}),
        priority: priority.default(2),
      }),
      result: z.object({ success: z.boolean(), task_id: z.string(), status: z.string(), task }),
      example: {
        request: { plan_id: planId, title: "write the notes", status: "todo" },
        result: { success: true, task_id: taskId, status: "todo", task: exampleTask },
      },
    }),
    updateTask: call("planning/task/update", "planning/task/update/resp", {
      asTool: { effect: "destroys" },
      about: { access: "write", resource: "plan", from: "plan_id" },
      doc: "Changes a task. Missing and empty fields stay unchanged, null clears a field.",
      request: z.object({
        plan_id: id.default(""),
        task_id: id,
        title: title.default(""),
        status: name.default(""),
        description: description.nullable().default(""),
        assignee: name.nullable().default(""),
        deps: deps.nullable().default([]),
        metadata: jsonObject.nullable().default({}).describe("Replaces all metadata."),
        priority: priority.optional(),
        if_version: ifVersion,
        claim_token: claimToken,
      }),
      result: z.object({ success: z.boolean(), task_id: z.string(), task }),
      example: {
        request: { plan_id: planId, task_id: taskId, status: "todo", assignee: null },
        result: { success: true, task_id: taskId, task: exampleTask },
      },
    }),
    listTasks: call("planning/task/list", "planning/task/list/resp", {
      asTool: { effect: "reads" },
      about: { access: "read", resource: "plan", from: "plan_id" },
      doc: "Lists the tasks that meet all given conditions, in the order in which they were added.",
      request: z.object({ plan_id: id.default(""), status: name.default(""), ...page }),
      result: z.object({ tasks: z.array(task), total }),
      example: { request: { status: "todo" }, result: { tasks: [exampleTask], total: 1 } },
    }),
    deleteTask: call("planning/task/delete", "planning/task/delete/resp", {
      asTool: { effect: "destroys" },
      about: { access: "write", resource: "plan", from: "plan_id" },
      doc: "Deletes a task that no other task depends on. An extension of ours.",
      request: z.object({ plan_id: id.default(""), task_id: id, if_version: ifVersion, claim_token: claimToken }),
      result: z.object({ success: z.boolean(), task_id: z.string() }),
      example: { request: { task_id: taskId }, result: { success: true, task_id: taskId } },
    }),
    ready: call("planning/task/ready", "planning/task/ready/resp", {
      asTool: { effect: "reads" },
      about: { access: "read", resource: "plan", from: "plan_id" },
      doc: "Lists open tasks whose dependencies are all done, most urgent first, then oldest. An extension of ours.",
      request: z.object({
        plan_id: id.default(""),
        include_claimed: z.boolean().default(false).describe("Include claimed tasks."),
        limit: page.limit,
      }),
      result: z.object({ tasks: z.array(task) }),
      example: { request: { plan_id: planId }, result: { tasks: [exampleTask] } },
    }),
    claim: call("planning/task/claim", "planning/task/claim/resp", {
      asTool: { effect: "adds" },
      about: { access: "write", resource: "plan", from: "plan_id" },
      doc: "Claims a ready task for a limited time. If several sessions try, one gets it. An extension of ours.",
      request: z.object({
        task_id: id.default("").describe("Without it, the first task of `planning/task/ready`."),
        plan_id: id.default(""),
        lease_seconds: leaseSeconds,
      }),
      result: z.object({
        success: z.boolean(),
        task_id: z.string(),
        token: z.string(),
        expires_at: z.number(),
        task,
      }),
      example: {
        request: { task_id: taskId, lease_seconds: 300 },
        result: { ...exampleLease, task: { ...exampleTask, claim: { by: "builder", expires_at: 1789000300.5 } } },
      },
    }),
    renew: call("planning/task/renew", "planning/task/renew/resp", {
      asTool: { effect: "adds" },
      about: { access: "write", resource: "plan", instance: "task_id" },
      doc: "Extends a claim; the time counts from now. An extension of ours.",
      request: z.object({ task_id: id, token: claimToken, lease_seconds: leaseSeconds }),
      result: z.object({ success: z.boolean(), task_id: z.string(), token: z.string(), expires_at: z.number() }),
      example: { request: { task_id: taskId, lease_seconds: 300 }, result: exampleLease },
    }),
    release: call("planning/task/release", "planning/task/release/resp", {
      asTool: { effect: "adds" },
      about: { access: "write", resource: "plan", instance: "task_id" },
      doc: "Releases a claim. Moving the task to a done column releases it as well. An extension of ours.",
      request: z.object({ task_id: id, token: claimToken }),
      result: z.object({ success: z.boolean(), task_id: z.string() }),
      example: { request: { task_id: taskId }, result: { success: true, task_id: taskId } },
    }),
    history: call("planning/task/history", "planning/task/history/resp", {
      asTool: { effect: "reads" },
      about: { access: "read", resource: "plan", resolve: "task_id" },
      doc: "Lists the changes of a task with author and time, newest first. An extension of ours.",
      request: z.object({ task_id: id, limit: page.limit }),
      result: z.object({ task_id: z.string(), changes: z.array(changeRecord) }),
      example: {
        request: { task_id: taskId },
        result: { task_id: taskId, changes: [{ kind: "task_added", by: "lead", at: 1789000000.5, version: 1 }] },
      },
    }),
  },
  pushes: { changed: planChanged },
});
