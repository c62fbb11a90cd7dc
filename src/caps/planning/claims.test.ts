import { expect, test } from "vitest";
import { startPlanning } from "./start-planning.suite.ts";

async function startShared() {
  const host = await startPlanning({ lease_seconds: 60, max_lease_seconds: 600 });
  const { plan_id } = await host.lead.createPlan({ shared: true });
  const add = async (title: string, rest: object = {}) =>
    (await host.lead.addTask({ plan_id, title, ...rest })).task_id;
  return { ...host, plan_id, add };
}

test("ready tasks are open tasks without unfinished dependencies, most urgent first and then oldest", async () => {
  await using host = await startShared();
  const { plan_id } = host;
  const a = await host.add("a");
  await host.add("b", { deps: [a] });
  await host.add("c", { priority: 0 });
  await host.add("d", { status: "done" });
  await host.add("e");
  const titles = async () => (await host.lead.ready({ plan_id })).tasks.map(({ title }) => title);

  expect(await titles()).toEqual(["c", "a", "e"]);
  await host.lead.updateTask({ task_id: a, status: "done" });
  expect(await titles()).toEqual(["c", "b", "e"]);
});

test("if several agents claim the same task, exactly one gets it", async () => {
  await using host = await startShared();
  const task_id = await host.add("a");
  const agents = await Promise.all(["one", "two", "one", "three"].map((name) => host.agent(name)));

  const outcomes = await Promise.allSettled(agents.map(({ api }) => api.claim({ task_id })));

  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const outcome of outcomes)
    if (outcome.status === "rejected")
      expect(outcome.reason).toMatchObject({ code: "claim_conflict", retryable: true });
});

test("agents that claim any task get different ones, and an error when no task is left", async () => {
  await using host = await startShared();
  const { plan_id } = host;
  const tasks = [await host.add("a"), await host.add("b")];
  const agents = await Promise.all(["one", "two", "three"].map((name) => host.agent(name)));

  const outcomes = await Promise.allSettled(agents.map(({ api }) => api.claim({ plan_id })));

  const got = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value.task_id] : []));
  expect(got.sort()).toEqual(tasks.sort());
  expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "task_not_ready" } });
  expect(await host.lead.ready({ plan_id })).toEqual({ tasks: [] });
  expect((await host.lead.ready({ plan_id, include_claimed: true })).tasks).toMatchObject([
    { claim: { by: "one" } },
    { claim: { by: "two" } },
  ]);
});

test("a task with unfinished dependencies, or a done task, cannot be claimed", async () => {
  await using host = await startShared();
  const a = await host.add("a");
  const b = await host.add("b", { deps: [a] });

  await expect(host.lead.claim({ task_id: b })).rejects.toMatchObject({
    code: "task_not_ready",
    retryable: true,
    detail: { waiting_for: [a] },
  });
  await host.lead.updateTask({ task_id: a, status: "done" });
  await expect(host.lead.claim({ task_id: a })).rejects.toMatchObject({ code: "task_not_ready", retryable: false });
  await host.lead.claim({ task_id: b });
});

test("a task whose claim has expired can be claimed again, and the old token is rejected", async () => {
  await using host = await startShared();
  const task_id = await host.add("a");
  const [one, two] = [await host.agent("one"), await host.agent("two")];
  const { token, expires_at } = await one.api.claim({ task_id, lease_seconds: 10 });
  expect(expires_at).toBe(host.clock.now() / 1000 + 10);

  host.clock.advance(9_999);
  await expect(two.api.claim({ task_id })).rejects.toMatchObject({ detail: { by: "one", retry_after_ms: 1 } });
  host.clock.advance(1);
  await expect(one.api.renew({ task_id, token })).rejects.toMatchObject({ code: "claim_lost" });
  await two.api.claim({ task_id });

  await expect(one.api.release({ task_id, token })).rejects.toMatchObject({ code: "claim_lost" });
  await expect(one.api.updateTask({ task_id, status: "done", claim_token: token })).rejects.toMatchObject({
    code: "claim_conflict",
    detail: { by: "two" },
  });
});

test("an update with the token of an expired claim does not undo the work of the next holder", async () => {
  await using host = await startShared();
  const task_id = await host.add("a");
  const [one, two] = [await host.agent("one"), await host.agent("two")];
  const { token } = await one.api.claim({ task_id, lease_seconds: 10 });
  host.clock.advance(10_000);
  await two.api.claim({ task_id });
  const { task: done } = await two.api.updateTask({ task_id, status: "done" });

  const late = { task_id, claim_token: token };
  await expect(one.api.updateTask({ ...late, status: "todo" })).rejects.toMatchObject({ code: "claim_lost" });
  await expect(one.api.deleteTask(late)).rejects.toMatchObject({ code: "claim_lost" });

  expect((await one.api.listTasks()).tasks).toEqual([done]);
});

test("renewing a claim extends it, up to the maximum of the host", async () => {
  await using host = await startShared();
  const task_id = await host.add("a");
  const one = await host.agent("one");
  const { token } = await one.api.claim({ task_id });

  host.clock.advance(59_000);
  expect(await one.api.renew({ task_id, lease_seconds: 1e9 })).toMatchObject({
    token,
    expires_at: host.clock.now() / 1000 + 600,
  });
});

test("a released task is ready again", async () => {
  await using host = await startShared();
  const task_id = await host.add("a");
  const [one, two] = [await host.agent("one"), await host.agent("two")];
  await one.api.claim({ task_id });

  await one.api.release({ task_id });

  expect((await two.api.ready()).tasks).toMatchObject([{ task_id }]);
  expect((await two.api.claim({ task_id })).task.claim?.by).toBe("two");
  const { changes } = await host.lead.history({ task_id });
  expect(changes.map(({ kind, by }) => `${kind} ${by}`)).toEqual([
    "task_claimed two",
    "task_released one",
    "task_claimed one",
    "task_added lead",
  ]);
});

test("a claimed task can be changed by its worker only, and its claim ends when it is done", async () => {
  await using host = await startShared();
  const task_id = await host.add("a");
  const [one, twin] = [await host.agent("one"), await host.agent("one")];
  const { token } = await one.api.claim({ task_id });

  const conflict = { code: "claim_conflict" };
  await expect(host.lead.updateTask({ task_id, title: "b" })).rejects.toMatchObject(conflict);
  await expect(host.lead.deleteTask({ task_id })).rejects.toMatchObject(conflict);
  await expect(twin.api.updateTask({ task_id, title: "b" })).rejects.toMatchObject(conflict);
  // Another session of the same agent may use the token.
  await twin.api.updateTask({ task_id, title: "b", claim_token: token });
  expect((await one.api.updateTask({ task_id, status: "done" })).task.claim).toBeUndefined();
  await host.lead.updateTask({ task_id, title: "c" });
});

test("the token of another agent is rejected", async () => {
  await using host = await startShared();
  const task_id = await host.add("a");
  const [one, thief] = [await host.agent("one"), await host.agent("thief")];
  const { token } = await one.api.claim({ task_id });

  await expect(thief.api.renew({ task_id, token })).rejects.toMatchObject({ code: "claim_lost" });
  await expect(thief.api.release({ task_id, token })).rejects.toMatchObject({ code: "claim_lost" });
  await expect(thief.api.updateTask({ task_id, title: "mine", claim_token: token })).rejects.toMatchObject({
    code: "claim_conflict",
  });
});
