import { expect, test } from "vitest";
import { createCapturedLog } from "../../testing/captured-log.ts";
import { planningLimits } from "./limits.ts";
import type { Plan } from "./model.ts";
import { type ChangeRecord, planChanged } from "./protocol.ts";
import { type PlanningHost, startPlanning } from "./start-planning.suite.ts";
import type { PlanSpace } from "./storage/plan-space.ts";
import { type Watcher, Watchers } from "./watchers.ts";

async function startWatcher(host: PlanningHost, agentId = "watcher") {
  const { client, api } = await host.agent(agentId);
  const heard: string[] = [];
  client.onPush(planChanged, ({ kind, by }) => heard.push(`${kind} ${by}`));
  /** The pushes so far: pushes arrive before the answer to a later request. */
  const listen = async () => {
    await api.listPlans();
    return heard.splice(0);
  };
  return { client, api, listen };
}

test("a session that watches a plan receives the changes of other sessions, and not its own", async () => {
  await using host = await startPlanning({ shared: true });
  const { plan_id } = await host.lead.createPlan();
  const other = await host.lead.createPlan();
  const watcher = await startWatcher(host);
  await watcher.api.watchPlan({ plan_id });

  const { task_id } = await host.lead.addTask({ plan_id, title: "a" });
  await host.lead.addTask({ plan_id: other.plan_id, title: "elsewhere" });
  await watcher.api.claim({ task_id });
  await watcher.api.release({ task_id });
  await host.lead.claim({ task_id });
  await host.lead.renew({ task_id });
  await host.lead.updateTask({ task_id, title: "b" });
  await host.lead.updateTask({ task_id, title: "b" });
  await host.lead.release({ task_id });
  await host.lead.deleteTask({ task_id });
  await host.lead.deletePlan({ plan_id });

  expect(await watcher.listen()).toEqual([
    "task_added lead",
    "task_claimed lead",
    "task_updated lead",
    "task_released lead",
    "task_deleted lead",
    "plan_deleted lead",
  ]);
});

test("a change that is rejected is not pushed", async () => {
  await using host = await startPlanning({ shared: true });
  const { plan_id } = await host.lead.createPlan();
  const watcher = await startWatcher(host);
  await watcher.api.watchPlan({ plan_id });

  await expect(host.lead.addTask({ plan_id, title: "a", deps: ["none"] })).rejects.toThrow();

  expect(await watcher.listen()).toEqual([]);
});

test("a pushed change lists the changed fields with their old and new values", async () => {
  await using host = await startPlanning({ shared: true });
  const { plan_id } = await host.lead.createPlan();
  const { task_id } = await host.lead.addTask({ plan_id, title: "a" });
  const { client, api } = await host.agent("watcher");
  const heard: unknown[] = [];
  client.onPush(planChanged, (message) => heard.push(message));
  await api.watchPlan();

  await host.lead.updateTask({ task_id, status: "todo" });
  await api.listPlans();

  expect(heard).toMatchObject([
    { plan_id, task_id, new_version: 2, changes: [{ field: "status", from: "backlog", to: "todo" }] },
  ]);
});

test("no changes are pushed after watching was stopped", async () => {
  await using host = await startPlanning({ shared: true });
  const { plan_id } = await host.lead.createPlan();
  const watcher = await startWatcher(host);
  expect(await watcher.api.watchPlan()).toEqual({ success: true, watching: [""] });
  expect(await watcher.api.watchPlan({ watch: false })).toEqual({ success: true, watching: [] });

  await host.lead.addTask({ plan_id, title: "a" });

  expect(await watcher.listen()).toEqual([]);
});

test("hiding a plan is pushed as a deletion to other agents, and as an update to sessions of its owner", async () => {
  await using host = await startPlanning({ shared: true });
  const { plan_id } = await host.lead.createPlan();
  const watcher = await startWatcher(host);
  const twin = await startWatcher(host, "lead");
  for (const { api } of [watcher, twin]) await api.watchPlan({ plan_id });

  await host.lead.updatePlan({ plan_id, shared: false });
  await host.lead.addTask({ plan_id, title: "a" });

  expect(await watcher.listen()).toEqual(["plan_deleted lead"]);
  expect(await twin.listen()).toEqual(["plan_updated lead", "task_added lead"]);
});

test("a session that did not negotiate planning receives no pushes", async () => {
  await using host = await startPlanning({ shared: true });
  const silent = await host.connect({ agentId: "lead", capabilities: [] });
  const heard: unknown[] = [];
  silent.onPush("*", (message) => heard.push(message));

  await host.lead.createPlan();
  await silent.ping();

  expect(heard).toEqual([]);
});

test("a session can watch a limited number of plans by id", async () => {
  await using host = await startPlanning({ max_plans: planningLimits.maxWatched + 1 });
  const first = (await host.lead.createPlan()).plan_id;
  for (let count = 0; count < planningLimits.maxWatched; count++) {
    const { plan_id } = await host.lead.createPlan();
    await host.lead.watchPlan({ plan_id });
  }

  await expect(host.lead.watchPlan({ plan_id: first })).rejects.toMatchObject({
    code: "plan_full",
    detail: { limit: "maxWatched" },
  });
});

test("a push that fails affects neither the change nor the other watchers", () => {
  const told: string[] = [];
  const log = createCapturedLog();
  const watchers = new Watchers(log);
  const watcherOf = (name: string, tell: () => void): Watcher => ({
    watching: [""],
    space: { isSeen: () => true } as unknown as PlanSpace,
    tell: () => {
      told.push(name);
      tell();
    },
  });
  watchers.add(
    watcherOf("broken", () => {
      throw new Error("its line is gone");
    }),
  );
  watchers.add(watcherOf("sound", () => {}));

  watchers.tell(
    [{ plan: {} as Plan, task_id: "", record: {} as ChangeRecord }],
    watcherOf("origin", () => {}),
  );

  expect(told).toEqual(["broken", "sound"]);
  expect(log.entries).toMatchObject([{ level: "error" }]);
});
