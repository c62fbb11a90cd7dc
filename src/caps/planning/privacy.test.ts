// An agent must not learn anything about private plans of other agents, with any call.
import { describe, expect, test } from "vitest";
import type { A2EClientError } from "../../client/errors.ts";
import { startPlanning } from "./start-planning.suite.ts";

async function startVictim() {
  const host = await startPlanning();
  const { plan_id } = await host.lead.createPlan({ name: "secret plan" });
  const { task_id } = await host.lead.addTask({ plan_id, title: "secret task" });
  const thief = (await host.agent("thief")).api;
  return { ...host, plan_id, task_id, thief };
}

type Victim = Awaited<ReturnType<typeof startVictim>>;

const attempts: Record<string, (host: Victim, plan_id: string, task_id: string) => Promise<unknown>> = {
  board: ({ thief }, plan_id) => thief.board({ plan_id }),
  updatePlan: ({ thief }, plan_id) => thief.updatePlan({ plan_id, name: "mine", shared: true }),
  deletePlan: ({ thief }, plan_id) => thief.deletePlan({ plan_id }),
  watchPlan: ({ thief }, plan_id) => thief.watchPlan({ plan_id }),
  addTask: ({ thief }, plan_id) => thief.addTask({ plan_id, title: "planted" }),
  listTasks: ({ thief }, plan_id) => thief.listTasks({ plan_id }),
  ready: ({ thief }, plan_id) => thief.ready({ plan_id }),
  claimAny: ({ thief }, plan_id) => thief.claim({ plan_id }),
  updateTask: ({ thief }, plan_id, task_id) => thief.updateTask({ plan_id, task_id, title: "mine" }),
  updateTaskAlone: ({ thief }, _, task_id) => thief.updateTask({ task_id, title: "mine" }),
  deleteTask: ({ thief }, _, task_id) => thief.deleteTask({ task_id }),
  claim: ({ thief }, _, task_id) => thief.claim({ task_id }),
  renew: ({ thief }, _, task_id) => thief.renew({ task_id }),
  release: ({ thief }, _, task_id) => thief.release({ task_id }),
  history: ({ thief }, _, task_id) => thief.history({ task_id }),
};

/** The error as the agent sees it, without the ids that it sent. */
async function refusal(attempt: Promise<unknown>, ...ids: string[]): Promise<string> {
  const error = await attempt.then(
    () => expect.fail("it was let in"),
    (thrown: A2EClientError) => thrown,
  );
  const text = JSON.stringify([error.code, error.message, error.detail]);
  return ids.reduce((shown, id) => shown.replaceAll(id, "…"), text);
}

test.each(Object.keys(attempts))(
  "%s of a plan of another agent is answered as if the plan did not exist",
  async (name) => {
    await using host = await startVictim();
    const attempt = attempts[name] as (typeof attempts)[string];

    const found = await refusal(attempt(host, host.plan_id, host.task_id), host.plan_id, host.task_id);
    const absent = await refusal(attempt(host, "no-plan", "no-task"), "no-plan", "no-task");

    expect(found).toBe(absent);
    expect((await host.lead.board()).boards).toMatchObject([
      { name: "secret plan", columns: { backlog: [{ title: "secret task", version: 1 }] } },
    ]);
  },
);

test("lists, boards and claims without a plan leave out plans of other agents", async () => {
  await using host = await startVictim();

  expect(await host.thief.listPlans()).toEqual({ plans: [], total: 0 });
  expect(await host.thief.board()).toEqual({ boards: [] });
  expect(await host.thief.listTasks()).toEqual({ tasks: [], total: 0 });
  expect(await host.thief.ready({ include_claimed: true })).toEqual({ tasks: [] });
  await expect(host.thief.claim()).rejects.toMatchObject({ code: "task_not_ready" });
});

test("a dependency on a task of another agent is answered as one on a missing task", async () => {
  await using host = await startVictim();
  const { plan_id } = await host.thief.createPlan();

  const found = await refusal(host.thief.addTask({ plan_id, title: "x", deps: [host.task_id] }), host.task_id);
  const absent = await refusal(host.thief.addTask({ plan_id, title: "x", deps: ["no-task"] }), "no-task");

  expect(found).toBe(absent);
});

test("watching every plan reports nothing about plans of other agents", async () => {
  await using host = await startVictim();
  const spy = await host.agent("spy");
  const heard: unknown[] = [];
  spy.client.onPush("*", (message) => heard.push(message));
  await spy.api.watchPlan();

  await host.lead.updateTask({ task_id: host.task_id, title: "still secret" });
  await host.lead.deletePlan({ plan_id: host.plan_id });
  await spy.api.listPlans();

  expect(heard).toEqual([]);
});

describe("a shared plan", () => {
  test("is changed by all agents, and shared, hidden and deleted only by its owner", async () => {
    await using host = await startVictim();
    await host.lead.updatePlan({ plan_id: host.plan_id, shared: true });
    const { thief, plan_id, task_id } = host;

    await thief.updateTask({ task_id, status: "done" });
    await thief.updatePlan({ plan_id, description: "ours" });
    await expect(thief.updatePlan({ plan_id, shared: false })).rejects.toMatchObject({ code: "forbidden" });
    await expect(thief.deletePlan({ plan_id })).rejects.toMatchObject({ code: "forbidden" });

    await host.lead.updatePlan({ plan_id, shared: false });
    await expect(thief.listTasks({ plan_id })).rejects.toMatchObject({ code: "unknown_plan" });
  });

  test("is the default for all plans if the config says so", async () => {
    await using host = await startPlanning({ shared: true });
    const { plan_id } = await host.lead.createPlan();
    await host.lead.createPlan({ shared: false });

    expect((await (await host.agent("other")).api.listPlans()).plans).toMatchObject([{ plan_id, owner: "lead" }]);
  });
});

test("agents without a name do not see each other's plans", async () => {
  await using host = await startPlanning();
  const [one, other] = [await host.agent(""), await host.agent("")];
  const { plan_id } = await one.api.createPlan();

  expect((await one.api.listPlans()).plans).toMatchObject([{ plan_id, owner: "" }]);
  expect(await other.api.listPlans()).toEqual({ plans: [], total: 0 });
});
