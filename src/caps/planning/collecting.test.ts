// Plans that no session can reach any more are removed.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { planningLimits } from "./limits.ts";
import { type PlanningHost, startPlanning } from "./start-planning.suite.ts";

const idleSeconds = 1000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval"] }));
afterEach(() => void vi.useRealTimers());

/** Advances the clock and triggers one collection. */
function pass(host: PlanningHost, seconds: number): void {
  host.clock.advance(seconds * 1000);
  vi.advanceTimersByTime(planningLimits.collectIntervalMs);
}

function countOf({ database }: PlanningHost, condition: string): Record<string, unknown> {
  const tables = ["planning_plan", "planning_task", "planning_history"];
  return Object.fromEntries(
    tables.map((table) => [
      table,
      database.prepare(`SELECT count(*) AS count FROM ${table} WHERE ${condition}`).get()?.count,
    ]),
  );
}

const one = { planning_plan: 1, planning_task: 1, planning_history: 1 };
const none = { planning_plan: 0, planning_task: 0, planning_history: 0 };

test("the plans of a fork are removed long after the fork and all forks based on it are closed", async () => {
  await using host = await startPlanning({ fork_idle_s: idleSeconds });
  const { plan_id } = await host.lead.createPlan({ shared: true });
  await host.lead.addTask({ plan_id, title: "below" });
  const fork = await host.fork();
  await fork.api.addTask({ plan_id, title: "in the fork" });
  const inner = await host.fork(fork.client);
  const left = async () => (await inner.api.listTasks()).tasks.map(({ title }) => title);
  pass(host, 1);

  await fork.client.disconnect();
  pass(host, idleSeconds * 2);
  expect(await left()).toEqual(["below", "in the fork"]);

  await inner.client.disconnect();
  pass(host, idleSeconds - 1);
  expect(countOf(host, "overlay <> ''").planning_plan).toBe(1);
  pass(host, 2);

  expect(countOf(host, "overlay <> ''")).toEqual(none);
  expect(countOf(host, "overlay = ''")).toEqual(one);
  expect(host.database.prepare("SELECT * FROM planning_frozen").all()).toEqual([]);
  expect(host.database.prepare("SELECT * FROM planning_use").all()).toEqual([]);
});

test("private plans of agents without a name are removed after their sessions; shared plans and those of other agents stay", async () => {
  await using host = await startPlanning({ fork_idle_s: idleSeconds });
  const nameless = await host.agent("");
  const open = await host.agent("");
  for (const { api } of [nameless, open, { api: host.lead }])
    for (const shared of [false, true]) {
      const { plan_id } = await api.createPlan({ name: `${shared}`, shared });
      await api.addTask({ plan_id, title: "a" });
    }
  pass(host, 1);

  await nameless.client.disconnect();
  pass(host, idleSeconds + 1);

  expect(countOf(host, "true")).toEqual({ planning_plan: 5, planning_task: 5, planning_history: 5 });
  expect((await open.api.listPlans()).total).toBe(4);
  expect((await host.lead.listPlans()).total).toBe(4);
});
