// The planning capability: plans, boards and tasks. Claims are in claims.ts, rejected changes in plan-refusals.ts.
import { asObject, asObjects, check, checkEqual, checkError, checkType, only } from "../../check.ts";
import { sharedHost } from "../../link.ts";
import { uniqueKey } from "../../peer.ts";
import type { Requirement } from "../../requirement.ts";
import { createPlan, openPlan, titlesOf } from "./opened-plan.ts";

const needs = { capability: "planning" } as const;

export const plans: readonly Requirement[] = [
  {
    id: "PLAN-1",
    title: "a plan without columns has backlog, todo, in_progress and done",
    source: "wire facts 3.12",
    level: "must",
    needs,
    async run({ agent }) {
      const answer = checkType(
        await (await agent()).request("planning/plan/create", { name: "default", columns: [], description: "" }),
        "planning/plan/create/resp",
      );
      checkEqual([answer.success, answer.columns], [true, ["backlog", "todo", "in_progress", "done"]], "answer");
      check(typeof answer.plan_id === "string" && answer.plan_id !== "", `plan_id: ${answer.plan_id}`);
    },
  },
  {
    id: "PLAN-2",
    title:
      "every request of the SDK, with all the fields that its models fill in, is answered under its type and /resp",
    source: "wire facts 3.12 (types)",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const { plan_id } = await peer.request("planning/plan/create", { name: "sdk", columns: [], description: "" });
      const task = { plan_id, title: "a", status: "backlog", description: "", assignee: "", deps: [], metadata: {} };
      const added = checkType(await peer.request("planning/task/add", task), "planning/task/add/resp");
      checkEqual([added.success, added.status], [true, "backlog"], "success and status");
      const update = { plan_id, task_id: added.task_id, status: "todo", assignee: "", deps: [] };
      const updated = checkType(await peer.request("planning/task/update", update), "planning/task/update/resp");
      checkEqual([updated.success, updated.task_id], [true, added.task_id], "success and task_id");
      for (const [type, fields] of [
        ["planning/task/list", { plan_id: "", status: "" }],
        ["planning/plan/board", { plan_id: "" }],
        ["planning/plan/list", {}],
      ] as const)
        checkType(await peer.request(type, fields), `${type}/resp`);
    },
  },
  {
    id: "PLAN-3",
    title: "a plan is listed with its name, columns and number of tasks; a comma does not split a column",
    source: "wire facts 3.12",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const columns = ["to do, soon", "done"];
      const open = await createPlan(peer, { name: "commas", columns, description: "words" });
      await open.add("a", { status: "to do, soon" });
      const { plans: listed } = checkType(await peer.request("planning/plan/list"), "planning/plan/list/resp");
      const plan = only(
        asObjects(listed, "plans").filter(({ plan_id }) => plan_id === open.id),
        "plan",
      );
      checkEqual(
        [plan.name, plan.columns, plan.description, plan.task_count],
        ["commas", columns, "words", 1],
        "name, columns, description and task_count",
      );
    },
  },
  {
    id: "PLAN-4",
    title: "a board has every column of its plan, including empty ones, and each task in its column",
    source: "wire facts 3.12",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const open = await createPlan(peer, { columns: ["new", "old", "done"] });
      await open.add("a", { status: "new" });
      await open.add("b", { status: "old" });
      await open.add("c", { status: "new" });
      const answer = await peer.request("planning/plan/board", { plan_id: open.id });
      const board = only(asObjects(checkType(answer, "planning/plan/board/resp").boards, "boards"), "board");
      const columns = Object.entries(asObject(board.columns, "columns"));
      checkEqual(
        columns.map(([name, tasks]) => [name, titlesOf(asObjects(tasks, name))]),
        [
          ["new", ["a", "c"]],
          ["old", ["b"]],
          ["done", []],
        ],
        "columns",
      );
    },
  },
  {
    id: "PLAN-5",
    title: "the fields of a task are returned: description, assignee, deps, metadata",
    source: "wire facts 3.12 (stored but not returned)",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await createPlan(await agent());
      const first = await open.add("first");
      const fields = { description: "long text", assignee: "ada", deps: [first], metadata: { a: [1] }, status: "todo" };
      await open.add("second", fields);
      const [, second] = await open.tasks();
      for (const [field, value] of Object.entries(fields)) checkEqual(second?.[field], value, field);
    },
  },
  {
    id: "PLAN-6",
    title: "tasks are listed by status also without a plan, in the order in which they were added",
    source: "wire facts 3.12 (docs: works)",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const status = `column ${uniqueKey(peer)}`.slice(0, 200);
      const open = await createPlan(peer, { columns: ["todo", status, "done"] });
      await open.add("a", { status });
      await open.add("b", { status: "todo" });
      await open.add("c", { status });
      for (const fields of [{ status }, { status, plan_id: "" }])
        checkEqual(titlesOf(await open.tasks(fields)), ["a", "c"], `tasks of ${JSON.stringify(fields)}`);
    },
  },
  {
    id: "PLAN-7",
    title: "an update without fields is answered with success and changes nothing",
    source: "wire facts 3.12 (no reply)",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await createPlan(await agent());
      const task_id = await open.add("a", { status: "todo", assignee: "ada", description: "words" });
      const [before] = await open.tasks();
      for (const fields of [{}, { status: "", assignee: "", deps: [], description: "", metadata: {} }])
        checkEqual(
          checkType(await open.update(task_id, fields), "planning/task/update/resp").success,
          true,
          `success of ${JSON.stringify(fields)}`,
        );
      checkEqual(await open.tasks(), [before], "tasks");
    },
  },
  {
    id: "PLAN-8",
    title: "null clears assignee, description, deps and metadata",
    source: "wire facts 3.12 (cannot be cleared)",
    level: "should",
    needs,
    async run({ agent }) {
      const open = await createPlan(await agent());
      const first = await open.add("first");
      const given = { assignee: "ada", description: "words", deps: [first], metadata: { a: 1 } };
      const task_id = await open.add("second", given);
      checkType(
        await open.update(task_id, { assignee: null, description: null, deps: null, metadata: null }),
        "planning/task/update/resp",
      );
      const [, task] = await open.tasks();
      checkEqual([task?.assignee, task?.description, task?.deps, task?.metadata], ["", "", [], {}], "cleared fields");
    },
  },
  {
    id: "PLAN-15",
    title: "tasks and plans can be deleted; a task that others need only after them",
    source: "extension: planning/task/delete, planning/plan/delete",
    level: "extension",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const open = await createPlan(peer);
      const [first, second] = [await open.add("first"), await open.add("second")];
      await open.update(second, { deps: [first] });
      const remove = (task_id: string) => peer.request("planning/task/delete", { plan_id: open.id, task_id });
      const { dependents } = asObject(checkError(await remove(first), "has_dependents").detail, "detail");
      checkEqual(dependents, [second], "detail.dependents");
      for (const task_id of [second, first]) checkType(await remove(task_id), "planning/task/delete/resp");
      checkEqual(await open.tasks(), [], "tasks");
      checkType(await peer.request("planning/plan/delete", { plan_id: open.id }), "planning/plan/delete/resp");
      checkError(await peer.request("planning/plan/board", { plan_id: open.id }), "unknown_plan");
    },
  },
  {
    id: "PLAN-16",
    title: "a plan can be renamed, described and given other columns",
    source: "extension: planning/plan/update",
    level: "extension",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const { id: plan_id } = await createPlan(peer, { name: "old", description: "words" });
      const request = { plan_id, name: "new", description: null, columns: ["a", "b"], if_version: 1 };
      const answer = checkType(await peer.request("planning/plan/update", request), "planning/plan/update/resp");
      const plan = asObject(answer.plan, "plan");
      checkEqual([plan.name, plan.description, plan.columns, plan.version], ["new", "", ["a", "b"], 2], "plan");
      checkError(await peer.request("planning/plan/update", request), "task_changed");
    },
  },
  {
    id: "PLAN-19",
    title: "a list is cut by limit and offset, and total is before the limit",
    source: "extension: limit, offset, total",
    level: "extension",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const open = await createPlan(peer);
      for (const title of ["a", "b", "c", "d"]) await open.add(title);
      const answer = await peer.request("planning/task/list", { plan_id: open.id, limit: 2, offset: 1 });
      checkEqual([titlesOf(asObjects(answer.tasks, "tasks")), answer.total], [["b", "c"], 4], "tasks and total");
    },
  },
  {
    id: "PLAN-20",
    title: "plans outlast their session; private plans are visible to their agent only, shared plans to all",
    source: "wire facts 3.12 (one DB shared by all sessions)",
    level: "must",
    needs,
    transports: sharedHost,
    async run({ connectAs }) {
      const owner = await connectAs("conformance");
      const hidden = await createPlan(owner, { name: "hidden", shared: false });
      const shared = await createPlan(owner, { name: "shared", shared: true });
      const task_id = await hidden.add("secret");
      await owner.close();
      const later = openPlan(await connectAs("conformance"), hidden.id);
      checkEqual(titlesOf(await later.tasks()), ["secret"], "tasks in the next session");
      const stranger = await connectAs("another agent");
      const seen = asObjects((await stranger.request("planning/plan/list")).plans, "plans").map(
        ({ plan_id }) => plan_id,
      );
      checkEqual([seen.includes(hidden.id), seen.includes(shared.id)], [false, true], "what another agent sees");
      checkError(await openPlan(stranger, hidden.id).tryAdd("mine"), "unknown_plan");
      checkError(await stranger.request("planning/task/update", { task_id, title: "mine" }), "unknown_task");
      checkError(await stranger.request("planning/task/claim", { task_id }), "unknown_task");
      await openPlan(stranger, shared.id).add("ours");
      checkError(await stranger.request("planning/plan/delete", { plan_id: shared.id }), "forbidden");
    },
  },
];
