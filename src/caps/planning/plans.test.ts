import { describe, expect, test } from "vitest";
import { planningLimits } from "./limits.ts";
import { startPlanning } from "./start-planning.suite.ts";

describe("a plan", () => {
  test("has the documented columns unless the request gives others", async () => {
    await using host = await startPlanning();

    expect(await host.lead.createPlan()).toMatchObject({
      success: true,
      columns: ["backlog", "todo", "in_progress", "done"],
      plan: { name: "default", shared: false, owner: "lead" },
    });
  });

  test("accepts a comma in the name of a column, and reports which column is done", async () => {
    await using host = await startPlanning();

    const { plan_id, columns } = await host.lead.createPlan({
      columns: ["red, green", { name: "blue", wip_limit: 2 }],
    });

    expect(columns).toEqual(["red, green", "blue"]);
    const { plans } = await host.lead.listPlans();
    expect(plans).toMatchObject([{ plan_id, columns, task_count: 0 }]);
    expect(plans[0]?.column_details).toEqual([
      { name: "red, green", wip_limit: 0, is_done: false },
      { name: "blue", wip_limit: 2, is_done: true },
    ]);
  });

  test.each([
    ["two of one name", ["a", "a"]],
    ["a name of blanks", ["a", " "]],
    ["a name that would be a prototype", ["__proto__"]],
    ["too many", Array.from({ length: planningLimits.maxColumns + 1 }, (_, index) => `c${index}`)],
  ])("is rejected with columns that have %s", async (_, columns) => {
    await using host = await startPlanning();

    await expect(host.lead.createPlan({ columns })).rejects.toMatchObject({ code: "schema_violation" });
  });

  test("has its fields changed and cleared, and each change increases its version", async () => {
    await using host = await startPlanning();
    const { plan_id } = await host.lead.createPlan({ name: "one", description: "long" });

    expect(await host.lead.updatePlan({ plan_id, name: "two" })).toMatchObject({
      plan: { name: "two", description: "long", version: 2 },
    });
    expect(await host.lead.updatePlan({ plan_id, description: null, if_version: 2 })).toMatchObject({
      plan: { name: "two", description: "", version: 3 },
    });
    expect(await host.lead.updatePlan({ plan_id })).toMatchObject({ plan: { version: 3 } });
    await expect(host.lead.updatePlan({ plan_id, name: "x", if_version: 2 })).rejects.toMatchObject({
      code: "task_changed",
      detail: { version: 3 },
    });
  });

  test("that is deleted is removed with its tasks", async () => {
    await using host = await startPlanning();
    const { plan_id } = await host.lead.createPlan();
    const { task_id } = await host.lead.addTask({ plan_id, title: "a" });

    await host.lead.deletePlan({ plan_id });

    expect(await host.lead.listPlans()).toEqual({ plans: [], total: 0 });
    expect(await host.lead.listTasks()).toEqual({ tasks: [], total: 0 });
    await expect(host.lead.history({ task_id })).rejects.toMatchObject({ code: "unknown_task" });
    await expect(host.lead.deletePlan({ plan_id })).rejects.toMatchObject({ code: "unknown_plan" });
  });

  test("is rejected beyond the limit of an agent, whose other plans stay usable", async () => {
    await using host = await startPlanning({ max_plans: 1, max_tasks: 1 });
    const { plan_id } = await host.lead.createPlan();
    await host.lead.addTask({ plan_id, title: "a" });

    await expect(host.lead.createPlan()).rejects.toMatchObject({ code: "plan_full", detail: { limit: "max_plans" } });
    await expect(host.lead.addTask({ plan_id, title: "b" })).rejects.toMatchObject({ detail: { limit: "max_tasks" } });
    const other = await host.agent("other");
    expect(await other.api.createPlan()).toMatchObject({ success: true });
  });
});

describe("a board", () => {
  test("groups tasks by column, and lists tasks of a removed column under an additional key", async () => {
    await using host = await startPlanning();
    const { plan_id } = await host.lead.createPlan({ columns: ["todo", "review", "done"] });
    await host.lead.addTask({ plan_id, title: "a", status: "todo" });
    await host.lead.addTask({ plan_id, title: "b", status: "review" });
    await host.lead.updatePlan({ plan_id, columns: ["todo", "done"] });

    const { boards } = await host.lead.board({ plan_id });

    expect(Object.keys(boards[0]?.columns ?? {})).toEqual(["todo", "done", "review"]);
    expect(boards).toMatchObject([
      { plan_id, task_count: 2, columns: { todo: [{ title: "a" }], done: [], review: [{ title: "b" }] } },
    ]);
    expect(await host.lead.listTasks({ plan_id, status: "review" })).toMatchObject({ total: 1 });
  });

  test("without a plan id is returned for every plan that the agent can see", async () => {
    await using host = await startPlanning();
    await host.lead.createPlan({ name: "one" });
    await host.lead.createPlan({ name: "two" });
    await (await host.agent("other")).api.createPlan({ name: "three" });

    expect((await host.lead.board()).boards.map(({ name }) => name)).toEqual(["one", "two"]);
    await expect(host.lead.board({ plan_id: "nowhere" })).rejects.toMatchObject({ code: "unknown_plan" });
  });
});
