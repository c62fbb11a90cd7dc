import { describe, expect, test } from "vitest";
import { startPlanning } from "./start-planning.suite.ts";

async function startPlan() {
  const host = await startPlanning();
  const { plan_id } = await host.lead.createPlan({ name: "plan" });
  const add = async (title: string, rest: object = {}) =>
    (await host.lead.addTask({ plan_id, title, ...rest })).task_id;
  return { ...host, plan_id, add };
}

type Api = Awaited<ReturnType<typeof startPlan>>["lead"];
const titlesOf = async (api: Api) => (await api.listTasks()).tasks.map(({ title }) => title);

describe("a fork", () => {
  test("of an agent without a name acts as that agent, even if planning was not used before", async () => {
    await using host = await startPlanning();
    const { client } = await host.agent("");
    const fork = await host.fork(client, "");
    const { plan_id } = await fork.api.createPlan({ name: "private" });
    const inner = await host.fork(fork.client, "");

    expect((await inner.api.listPlans()).plans).toMatchObject([{ plan_id }]);
    expect(await host.merge(fork.session_id, client)).toEqual({ merged: 1, conflicts: [] });
    expect((await client.planning.listPlans()).plans).toMatchObject([{ plan_id }]);
  });

  test("starts with the plans of its session, and its changes do not affect them", async () => {
    await using host = await startPlan();
    const { plan_id } = host;
    const a = await host.add("a");
    const b = await host.add("b");
    const before = { plans: await host.lead.listPlans(), boards: await host.lead.board() };
    const fork = (await host.fork()).api;
    expect(await fork.board()).toEqual(before.boards);

    await fork.updateTask({ task_id: a, status: "done" });
    await fork.deleteTask({ task_id: b });
    await fork.addTask({ plan_id, title: "c" });
    await fork.createPlan({ name: "only here", shared: true });
    await fork.updatePlan({ plan_id, name: "renamed" });
    await fork.claim({ plan_id });

    expect({ plans: await host.lead.listPlans(), boards: await host.lead.board() }).toEqual(before);
    expect((await host.lead.history({ task_id: a })).changes).toHaveLength(1);
    expect((await fork.listPlans()).plans.map(({ name }) => name)).toEqual(["renamed", "only here"]);
    expect(await titlesOf(fork)).toEqual(["a", "c"]);
    expect((await fork.history({ task_id: a })).changes.map(({ kind }) => kind)).toEqual([
      "task_updated",
      "task_added",
    ]);
  });

  test("that deletes a plan no longer sees it, and its session still does", async () => {
    await using host = await startPlan();
    const { plan_id } = host;
    const task_id = await host.add("a");
    const fork = (await host.fork()).api;

    await fork.deletePlan({ plan_id });

    expect(await fork.listPlans()).toEqual({ plans: [], total: 0 });
    await expect(fork.updateTask({ task_id, title: "b" })).rejects.toMatchObject({ code: "unknown_task" });
    expect(await titlesOf(host.lead)).toEqual(["a"]);
  });

  test("does not see later changes of its session in a plan that it has changed itself", async () => {
    await using host = await startPlan();
    const task_id = await host.add("a");
    const fork = (await host.fork()).api;
    await fork.addTask({ plan_id: host.plan_id, title: "b" });

    await host.lead.updateTask({ task_id, title: "A" });

    expect(await titlesOf(fork)).toEqual(["a", "b"]);
  });

  test("of a fork starts with the changes of its parent, and afterwards neither sees the other", async () => {
    await using host = await startPlan();
    const task_id = await host.add("a");
    const first = await host.fork();
    await first.api.updateTask({ task_id, title: "b" });
    const second = await host.fork(first.client);
    const third = await host.fork(first.client);

    await first.api.updateTask({ task_id, title: "c" });
    expect(await titlesOf(second.api)).toEqual(["b"]);
    await second.api.updateTask({ task_id, title: "d" });

    const seen = await Promise.all([host.lead, first.api, second.api, third.api].map(titlesOf));
    expect(seen).toEqual([["a"], ["c"], ["d"], ["b"]]);
  });

  test("cannot see plans that its agent may not see", async () => {
    await using host = await startPlan();
    const other = await host.agent("other");
    await other.api.createPlan();
    const fork = await host.fork(other.client, "other");

    expect((await fork.api.listPlans()).plans).toHaveLength(1);
    await expect(fork.api.addTask({ plan_id: host.plan_id, title: "x" })).rejects.toMatchObject({
      code: "unknown_plan",
    });
  });
});

describe("a merge", () => {
  test("applies the additions, changes and deletions of a fork, and notifies watchers", async () => {
    await using host = await startPlan();
    const { plan_id } = host;
    const [a, b] = [await host.add("a"), await host.add("b")];
    const watcher = await host.agent("lead");
    const heard: unknown[] = [];
    watcher.client.onPush("planning/changed", ({ kind }) => heard.push(kind));
    await watcher.api.watchPlan();
    const { api: fork, session_id } = await host.fork();
    await fork.updateTask({ task_id: a, status: "done", description: "did it" });
    await fork.deleteTask({ task_id: b });
    await fork.addTask({ plan_id, title: "c", deps: [a] });
    const made = await fork.createPlan({ name: "new" });
    await fork.addTask({ plan_id: made.plan_id, title: "d" });
    expect(heard).toEqual([]);

    expect((await host.merge(session_id)).conflicts).toEqual([]);

    expect(await titlesOf(host.lead)).toEqual(["a", "c", "d"]);
    expect((await host.lead.board()).boards).toMatchObject([{ columns: { done: [{ description: "did it" }] } }, {}]);
    expect((await host.lead.history({ task_id: a })).changes[0]).toMatchObject({ kind: "task_merged", by: "lead" });
    await watcher.api.listPlans();
    expect(heard.sort()).toEqual(["plan_created", "task_deleted", "task_merged", "task_merged"]);
  });

  test("reports items that both have changed, leaves them as they are, and merges the rest", async () => {
    await using host = await startPlan();
    const { plan_id } = host;
    const [a, b, c, d] = [await host.add("a"), await host.add("b"), await host.add("c"), await host.add("d")];
    const { api: fork, session_id } = await host.fork();
    await fork.updateTask({ task_id: a, title: "a of the fork" });
    await fork.deleteTask({ task_id: b });
    await fork.updateTask({ task_id: c, title: "c of the fork" });
    await fork.updateTask({ task_id: d, title: "d of the fork" });
    await host.lead.updateTask({ task_id: a, title: "a of the parent" });
    await host.lead.updateTask({ task_id: b, title: "b of the parent" });
    await host.lead.deleteTask({ task_id: c });

    const { conflicts } = await host.merge(session_id);

    expect(conflicts).toEqual([
      `${plan_id}/${a}: changed by both`,
      `${plan_id}/${b}: changed here and deleted by the fork`,
      `${plan_id}/${c}: deleted here and changed by the fork`,
    ]);
    expect(await titlesOf(host.lead)).toEqual(["a of the parent", "b of the parent", "d of the fork"]);
  });

  test("may be repeated, and then merges only later changes", async () => {
    await using host = await startPlan();
    const { plan_id } = host;
    const task_id = await host.add("a");
    const { api: fork, session_id } = await host.fork();
    for (const title of ["b", "c"]) await fork.updateTask({ task_id, title });
    const added = (await fork.addTask({ plan_id, title: "x" })).task_id;
    const made = await fork.createPlan({ name: "new" });
    await host.merge(session_id);
    expect((await host.merge(session_id)).conflicts).toEqual([]);

    await fork.updateTask({ task_id, title: "d" });
    await fork.updateTask({ task_id: added, title: "y" });
    await fork.deletePlan({ plan_id: made.plan_id });

    expect((await host.merge(session_id)).conflicts).toEqual([]);
    expect(await titlesOf(host.lead)).toEqual(["d", "y"]);
    expect((await host.lead.listPlans()).plans).toHaveLength(1);
  });

  test("into a fork stays in that fork until the fork is merged itself", async () => {
    await using host = await startPlan();
    const task_id = await host.add("a");
    const first = await host.fork();
    await first.api.updateTask({ task_id, title: "b" });
    const second = await host.fork(first.client);
    await second.api.updateTask({ task_id, title: "c" });

    expect((await host.merge(second.session_id, first.client)).conflicts).toEqual([]);
    expect(await titlesOf(first.api)).toEqual(["c"]);
    expect(await titlesOf(host.lead)).toEqual(["a"]);
    await host.merge(first.session_id);
    expect(await titlesOf(host.lead)).toEqual(["c"]);
  });

  test("that would make tasks depend on each other, or on a deleted task, leaves the plan unchanged", async () => {
    await using host = await startPlan();
    const [a, b] = [await host.add("a"), await host.add("b")];
    const { api: fork, session_id } = await host.fork();
    const other = await host.fork();
    await fork.updateTask({ task_id: a, deps: [b] });
    await other.api.updateTask({ task_id: a, title: "A", deps: [b] });
    await host.lead.updateTask({ task_id: b, deps: [a] });

    expect((await host.merge(session_id)).conflicts.join()).toContain("would wait for itself");
    await host.lead.deleteTask({ task_id: b });
    expect((await host.merge(other.session_id)).conflicts.join()).toContain("depends on a task that is gone");
    expect((await host.lead.listTasks()).tasks).toMatchObject([{ task_id: a, title: "a", deps: [], version: 1 }]);
  });

  test("deletes a plan unless it was changed in the parent", async () => {
    await using host = await startPlan();
    const { plan_id } = host;
    const task_id = await host.add("a");
    const [one, other] = [await host.fork(), await host.fork()];
    await one.api.deletePlan({ plan_id });
    await host.lead.updateTask({ task_id, title: "b" });
    expect((await host.merge(one.session_id)).conflicts).toEqual([`${plan_id}: changed here and deleted by the fork`]);

    await other.api.deletePlan({ plan_id });
    expect((await host.merge(other.session_id)).conflicts).toEqual([]);
    expect(await host.lead.listPlans()).toEqual({ plans: [], total: 0 });
  });

  test("does not change a task that another session has claimed", async () => {
    await using host = await startPlan();
    const task_id = await host.add("a");
    const { api: fork, session_id } = await host.fork();
    await fork.updateTask({ task_id, title: "b" });
    await (await host.agent("lead")).api.claim({ task_id });

    expect((await host.merge(session_id)).conflicts).toEqual([
      `${host.plan_id}/${task_id}: claimed by another session`,
    ]);
    expect(await titlesOf(host.lead)).toEqual(["a"]);
  });

  test("adds at most as many plans and tasks as the host allows, and reports the others", async () => {
    await using host = await startPlanning({ max_plans: 2, max_tasks: 2 });
    const { plan_id } = await host.lead.createPlan();
    await host.lead.addTask({ plan_id, title: "a" });
    const forks = [await host.fork(), await host.fork()];
    for (const { api } of forks) {
      await api.createPlan({ name: "another" });
      await api.addTask({ plan_id, title: "b" });
    }

    expect(await host.merge(forks[0]?.session_id ?? "")).toEqual({ merged: 2, conflicts: [] });
    const { merged, conflicts } = await host.merge(forks[1]?.session_id ?? "");

    expect(merged).toBe(0);
    expect(conflicts.map((conflict) => conflict.replace(/^.*: /, "")).sort()).toEqual([
      "the host allows no more plans",
      "the host allows no more tasks",
    ]);
    expect((await host.lead.listPlans()).plans.map(({ task_count }) => task_count)).toEqual([2, 0]);
  });
});
