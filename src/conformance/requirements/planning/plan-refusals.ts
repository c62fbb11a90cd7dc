// Changes that a plan rejects: unknown columns and tasks, cycles, and changes beyond its limits.
import { asArray, asObject, check, checkEqual, checkError, checkType } from "../../check.ts";
import type { Requirement } from "../../requirement.ts";
import { createPlan } from "./opened-plan.ts";

const needs = { capability: "planning" } as const;

export const planRefusals: readonly Requirement[] = [
  {
    id: "PLAN-9",
    title: "a plan that there is not is refused with unknown_plan",
    source: "wire facts 3.12 (unknown plan accepted)",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      for (const plan_id of ["no-such-plan", "__proto__"]) {
        for (const type of ["planning/task/add", "planning/task/list", "planning/plan/board", "planning/plan/delete"])
          checkError(await peer.request(type, { plan_id, title: "a" }), "unknown_plan");
      }
    },
  },
  {
    id: "PLAN-10",
    title: "a status that is not a column is rejected with unknown_column and the existing columns",
    source: "wire facts 3.12 (unknown status accepted)",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await createPlan(await agent());
      const task_id = await open.add("a");
      for (const answer of [await open.tryAdd("b", { status: "tdo" }), await open.update(task_id, { status: "tdo" })]) {
        const { columns } = asObject(checkError(answer, "unknown_column").detail, "detail");
        checkEqual(columns, ["backlog", "todo", "in_progress", "done"], "detail.columns");
      }
      checkEqual(
        (await open.tasks()).map(({ status }) => status),
        ["backlog"],
        "statuses",
      );
    },
  },
  {
    id: "PLAN-11",
    title: "the SDK's default status, backlog, is the first column of a plan that has no column of this name",
    source: "wire facts 3.12 (default columns)",
    level: "should",
    needs,
    async run({ agent }) {
      const open = await createPlan(await agent(), { columns: ["ideas", "done"] });
      checkEqual((await open.tryAdd("a", { status: "backlog" })).status, "ideas", "status");
    },
  },
  {
    id: "PLAN-12",
    title: "a task that there is not is refused with unknown_task",
    source: "wire facts 3.12",
    level: "should",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const open = await createPlan(peer);
      checkError(await open.update("no-such-task", { status: "todo" }), "unknown_task");
      for (const type of ["planning/task/delete", "planning/task/claim", "planning/task/history"])
        checkError(await peer.request(type, { task_id: "no-such-task" }), "unknown_task");
    },
  },
  {
    id: "PLAN-13",
    title: "a dependency that would close a circle is refused with dependency_cycle and the way round",
    source: "guide: planning (dependencies)",
    level: "should",
    needs,
    async run({ agent }) {
      const open = await createPlan(await agent());
      const a = await open.add("a");
      const b = await open.add("b", { deps: [a] });
      const c = await open.add("c", { deps: [b] });
      for (const deps of [[c], [b], [a]]) {
        const error = checkError(await open.update(a, { deps }), "dependency_cycle");
        check(
          asArray(asObject(error.detail, "detail").cycle, "detail.cycle").includes(a),
          "the cycle should name the task",
        );
      }
      checkEqual((await open.tasks())[0]?.deps, [], "deps afterwards");
    },
  },
  {
    id: "PLAN-14",
    title: "a dependency on no task of the plan is refused with unknown_dependency that names it",
    source: "guide: planning (dependencies)",
    level: "should",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const [open, other] = [await createPlan(peer), await createPlan(peer)];
      const elsewhere = await other.add("elsewhere");
      for (const missing of ["no-such-task", elsewhere]) {
        const error = checkError(await open.tryAdd("a", { deps: [missing] }), "unknown_dependency");
        checkEqual(asObject(error.detail, "detail").missing, [missing], "detail.missing");
      }
      checkEqual(await open.tasks(), [], "tasks");
    },
  },
  {
    id: "PLAN-17",
    title: "a column takes no more tasks than its wip_limit, and then answers column_full",
    source: "extension: wip_limit",
    level: "extension",
    needs,
    async run({ agent }) {
      const open = await createPlan(await agent(), { columns: ["todo", { name: "doing", wip_limit: 1 }, "done"] });
      const [first, second] = [
        await open.add("first", { status: "doing" }),
        await open.add("second", { status: "todo" }),
      ];
      checkError(await open.update(second, { status: "doing" }), "column_full");
      checkError(await open.tryAdd("third", { status: "doing" }), "column_full");
      checkType(await open.update(first, { status: "done" }), "planning/task/update/resp");
      checkType(await open.update(second, { status: "doing" }), "planning/task/update/resp");
    },
  },
  {
    id: "PLAN-18",
    title: "a plan grows up to a limit that is reported with plan_full, and the rejected task is not in it",
    source: "limits are said, not suffered",
    level: "should",
    needs,
    async run({ agent }) {
      const open = await createPlan(await agent());
      const answers = await Promise.all(Array.from({ length: 40 }, (_, at) => open.tryAdd(`task ${at}`)));
      const added = answers.filter(({ type }) => type === "planning/task/add/resp");
      for (const answer of answers) if (!added.includes(answer)) checkError(answer, "plan_full");
      checkEqual((await open.tasks()).length, added.length, "tasks in the plan");
    },
  },
];
