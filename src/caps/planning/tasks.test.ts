import { describe, expect, test } from "vitest";
import { planningLimits } from "./limits.ts";
import { startPlanning } from "./start-planning.suite.ts";

async function startPlan(options = {}, columns: (string | { name: string; wip_limit: number })[] = []) {
  const host = await startPlanning(options);
  const { plan_id } = await host.lead.createPlan({ columns });
  const add = async (title: string, rest: object = {}) =>
    (await host.lead.addTask({ plan_id, title, ...rest })).task_id;
  return { ...host, plan_id, add };
}

describe("a task", () => {
  test("is returned with all fields that it was added with", async () => {
    await using host = await startPlan();
    const first = await host.add("first");
    const fields = {
      title: "second",
      status: "todo",
      description: "all of it",
      assignee: "builder",
      deps: [first],
      metadata: { size: 3, tags: ["a"] },
      priority: 0,
    };

    const { task_id, status } = await host.lead.addTask({ plan_id: host.plan_id, ...fields });

    expect(status).toBe("todo");
    const { tasks } = await host.lead.listTasks({ plan_id: host.plan_id, status: "todo" });
    const at = host.clock.now() / 1000;
    expect(tasks).toEqual([{ task_id, plan_id: host.plan_id, ...fields, version: 1, created_at: at, updated_at: at }]);
  });

  test("starts in the first column if the plan does not have the default status of the SDK", async () => {
    await using host = await startPlan({}, ["a", "b"]);

    expect(await host.lead.addTask({ plan_id: host.plan_id, title: "x" })).toMatchObject({ status: "a" });
  });

  test("is rejected in an unknown plan or column, with the list of existing columns", async () => {
    await using host = await startPlan();
    const { plan_id } = host;
    const task_id = await host.add("x");

    await expect(host.lead.addTask({ plan_id: "none", title: "x" })).rejects.toMatchObject({ code: "unknown_plan" });
    const refused = { code: "unknown_column", detail: { columns: ["backlog", "todo", "in_progress", "done"] } };
    await expect(host.lead.addTask({ plan_id, title: "x", status: "todoo" })).rejects.toMatchObject(refused);
    await expect(host.lead.updateTask({ plan_id, task_id, status: "doone" })).rejects.toThrow('did you mean "done"?');
    await expect(host.lead.listTasks({ plan_id, status: "todoo" })).rejects.toMatchObject(refused);
    await expect(host.lead.updateTask({ plan_id, task_id: "none" })).rejects.toMatchObject({ code: "unknown_task" });
  });

  test("is not found with the id of another plan", async () => {
    await using host = await startPlan();
    const task_id = await host.add("x");
    const other = await host.lead.createPlan();

    await expect(host.lead.updateTask({ plan_id: other.plan_id, task_id, title: "y" })).rejects.toMatchObject({
      code: "unknown_task",
    });
  });

  test("keeps fields that are missing or empty in an update, and clears fields that are null", async () => {
    await using host = await startPlan();
    const dep = await host.add("dep");
    const full = { description: "d", assignee: "a", deps: [dep], metadata: { k: 1 } };
    const task_id = await host.add("x", full);

    // The request of the SDK if its agent changes only the status.
    const sdk = { plan_id: host.plan_id, task_id, status: "todo", assignee: "", deps: [] };
    expect(await host.lead.updateTask(sdk)).toMatchObject({ success: true, task: { ...full, status: "todo" } });
    const cleared = { description: null, assignee: null, deps: null, metadata: null };
    expect(await host.lead.updateTask({ task_id, ...cleared })).toMatchObject({
      task: { title: "x", status: "todo", description: "", assignee: "", deps: [], metadata: {}, version: 3 },
    });
  });

  test("that is updated without a change keeps its version", async () => {
    await using host = await startPlan();
    const task_id = await host.add("x");

    expect(await host.lead.updateTask({ plan_id: host.plan_id, task_id })).toMatchObject({
      success: true,
      task: { version: 1 },
    });
  });

  test("is only changed if if_version is its current version", async () => {
    await using host = await startPlan();
    const task_id = await host.add("x");
    await host.lead.updateTask({ task_id, title: "y", if_version: 1 });

    const late = { code: "task_changed", retryable: true, detail: { if_version: 1, version: 2 } };
    await expect(host.lead.updateTask({ task_id, title: "z", if_version: 1 })).rejects.toMatchObject(late);
    await expect(host.lead.deleteTask({ task_id, if_version: 1 })).rejects.toMatchObject(late);
  });

  test("cannot be moved into a full column, and may stay in it", async () => {
    await using host = await startPlan({}, ["todo", { name: "doing", wip_limit: 1 }, "done"]);
    const first = await host.add("first", { status: "doing" });
    const second = await host.add("second");

    const full = { code: "column_full", retryable: true, detail: { column: "doing", wip_limit: 1 } };
    await expect(host.add("third", { status: "doing" })).rejects.toMatchObject(full);
    await expect(host.lead.updateTask({ task_id: second, status: "doing" })).rejects.toMatchObject(full);
    await host.lead.updateTask({ task_id: first, status: "doing", title: "still here" });
    await host.lead.updateTask({ task_id: first, status: "done" });
    expect(await host.lead.updateTask({ task_id: second, status: "doing" })).toMatchObject({ success: true });
  });

  test.each([
    ["no title", { title: "" }],
    ["a title that is too long", { title: "x".repeat(planningLimits.maxTitleLength + 1) }],
    ["an unknown urgency", { title: "x", priority: 5 }],
    ["too much metadata", { title: "x", metadata: { text: "x".repeat(planningLimits.maxMetadataLength) } }],
    [
      "too many dependencies",
      { title: "x", deps: Array.from({ length: planningLimits.maxDependencies + 1 }, () => "a") },
    ],
  ])("is rejected with %s", async (_, fields) => {
    await using host = await startPlan();

    await expect(host.lead.addTask({ plan_id: host.plan_id, ...fields })).rejects.toMatchObject({
      code: "schema_violation",
    });
    expect(await host.lead.listTasks()).toMatchObject({ total: 0 });
  });
});

describe("a list of tasks", () => {
  test("is filtered by status, also across plans", async () => {
    await using host = await startPlan();
    const other = await host.lead.createPlan();
    await host.add("a", { status: "todo" });
    await host.add("b", { status: "done" });
    await host.lead.addTask({ plan_id: other.plan_id, title: "c", status: "todo" });

    const { tasks, total } = await host.lead.listTasks({ status: "todo" });

    expect(tasks.map(({ title }) => title)).toEqual(["a", "c"]);
    expect(total).toBe(2);
    expect(await host.lead.listTasks({ status: "nowhere" })).toEqual({ tasks: [], total: 0 });
  });

  test("is returned in pages, with the total number", async () => {
    await using host = await startPlan();
    for (const title of ["a", "b", "c"]) await host.add(title);

    expect(await host.lead.listTasks({ limit: 1, offset: 1 })).toMatchObject({ tasks: [{ title: "b" }], total: 3 });
  });
});

describe("dependencies", () => {
  test("must be tasks of the same plan", async () => {
    await using host = await startPlan();
    const other = await host.lead.createPlan();
    const elsewhere = (await host.lead.addTask({ plan_id: other.plan_id, title: "x" })).task_id;

    await expect(host.add("y", { deps: [elsewhere] })).rejects.toMatchObject({
      code: "unknown_dependency",
      detail: { missing: [elsewhere] },
    });
  });

  test("that would form a cycle are rejected with the tasks of the cycle", async () => {
    await using host = await startPlan();
    const a = await host.add("a");
    const b = await host.add("b", { deps: [a] });
    const c = await host.add("c", { deps: [b] });

    await expect(host.lead.updateTask({ task_id: a, deps: [c] })).rejects.toMatchObject({
      code: "dependency_cycle",
      detail: { cycle: [a, c, b, a] },
    });
    await expect(host.lead.updateTask({ task_id: a, deps: [a] })).rejects.toMatchObject({ detail: { cycle: [a, a] } });
    expect(await host.lead.listTasks({ limit: 1 })).toMatchObject({ tasks: [{ deps: [], version: 1 }] });
  });

  test("prevent the deletion of a task that another task needs", async () => {
    await using host = await startPlan();
    const a = await host.add("a");
    const b = await host.add("b", { deps: [a] });

    await expect(host.lead.deleteTask({ task_id: a })).rejects.toMatchObject({
      code: "has_dependents",
      detail: { dependents: [b] },
    });
    await host.lead.deleteTask({ task_id: b });
    await host.lead.deleteTask({ task_id: a });
    expect(await host.lead.listTasks()).toMatchObject({ total: 0 });
  });
});

describe("the history of a task", () => {
  test("lists author, time and fields of each change, newest first", async () => {
    await using host = await startPlan();
    const task_id = await host.add("a");
    host.clock.advance(1000);
    await host.lead.updateTask({ task_id, status: "todo", description: "x".repeat(1000) });

    const { changes } = await host.lead.history({ task_id });

    expect(changes).toMatchObject([
      { kind: "task_updated", by: "lead", at: host.clock.now() / 1000, version: 2 },
      { kind: "task_added", by: "lead", version: 1, changes: [] },
    ]);
    expect(changes[0]?.changes).toMatchObject([
      { field: "status", from: "backlog", to: "todo" },
      { field: "description", from: "" },
    ]);
    expect(String(changes[0]?.changes[1]?.to)).toHaveLength(planningLimits.maxHistoryValueLength + 1);
  });

  test("has a limited number of changes", async () => {
    await using host = await startPlan({ max_history: 2 });
    const task_id = await host.add("a");
    for (const title of ["b", "c", "d"]) await host.lead.updateTask({ task_id, title });

    expect((await host.lead.history({ task_id })).changes.map(({ version }) => version)).toEqual([4, 3]);
  });
});

test("an answer has as many tasks and plans as fit, and further pages have the rest", async () => {
  await using host = await startPlanning({ max_history: 0 });
  const description = "ä".repeat(20_000);
  const { plan_id } = await host.lead.createPlan({ description });
  for (let count = 0; count < 150; count++) await host.lead.addTask({ plan_id, title: `task ${count}`, description });
  const { maxAnswerBytes } = planningLimits;
  const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

  const first = await host.lead.listTasks({ plan_id });
  expect(bytesOf(first)).toBeLessThanOrEqual(maxAnswerBytes);
  expect(first.total).toBe(150);
  expect(first.tasks.length).toBeLessThan(150);
  const rest = await host.lead.listTasks({ plan_id, offset: first.tasks.length });
  expect([...first.tasks, ...rest.tasks].map(({ title }) => title)).toEqual(
    Array.from({ length: 150 }, (_, count) => `task ${count}`),
  );

  const board = await host.lead.board({ plan_id });
  expect(bytesOf(board)).toBeLessThanOrEqual(maxAnswerBytes);
  expect([board.truncated, board.boards[0]?.task_count]).toEqual([true, 150]);
  expect(bytesOf(await host.lead.ready({ plan_id }))).toBeLessThanOrEqual(maxAnswerBytes);

  for (let count = 0; count < 150; count++) await host.lead.createPlan({ name: `plan ${count}`, description });
  const plans = await host.lead.listPlans();
  expect(bytesOf(plans)).toBeLessThanOrEqual(maxAnswerBytes);
  expect(plans.total).toBe(151);
  expect(plans.plans[0]?.description).toBe(description);
  const { plans: more } = await host.lead.listPlans({ offset: plans.plans.length, limit: 10 });
  expect(more.map(({ name }) => name)[0]).toBe(`plan ${plans.plans.length - 1}`);
});

test("a text that the database would change is rejected, and any other text is returned unchanged", async () => {
  await using host = await startPlan();
  const { plan_id, lead } = host;
  const odd = "\u0001 \u2028 é 😀 '; --";
  const { task } = await lead.addTask({ plan_id, title: odd, description: odd, assignee: odd });

  for (const lost of ["a\0b", "\ud83d", "\ude00!"])
    for (const attempt of [
      lead.createPlan({ name: lost }),
      lead.createPlan({ columns: ["todo", lost] }),
      lead.updatePlan({ plan_id, description: lost }),
      lead.addTask({ plan_id, title: lost }),
      lead.updateTask({ task_id: task.task_id, description: lost }),
      lead.updateTask({ task_id: task.task_id, assignee: lost }),
    ])
      await expect(attempt).rejects.toMatchObject({ code: "schema_violation" });

  expect((await lead.listTasks({ plan_id })).tasks).toEqual([task]);
  const metadata = { note: "a\0b\ud83d" };
  await lead.updateTask({ task_id: task.task_id, metadata });
  expect((await lead.listTasks({ plan_id })).tasks[0]?.metadata).toEqual(metadata);
});

test("names and texts may be as long as their limits, and not longer", async () => {
  await using host = await startPlan();
  const { maxDescriptionLength, maxListed, maxNameLength } = planningLimits;
  await host.add("a", { assignee: "x".repeat(maxNameLength), description: "x".repeat(maxDescriptionLength) });

  for (const attempt of [
    host.add("a", { assignee: "x".repeat(maxNameLength + 1) }),
    host.add("a", { description: "x".repeat(maxDescriptionLength + 1) }),
    host.lead.listTasks({ limit: maxListed + 1 }),
    host.lead.listPlans({ limit: maxListed + 1 }),
  ])
    await expect(attempt).rejects.toMatchObject({ code: "schema_violation" });
});

test("a board has at most as many tasks as its limit, and reports if there are more", async () => {
  await using host = await startPlan();
  await host.add("a");
  // Copies of the task in the database, since adding them one by one would take long.
  const { maxBoardTasks } = planningLimits;
  const columns = "overlay, plan_id, title, status, description, assignee, deps, metadata, priority, version";
  const rest = "base_version, is_deleted, claim, claim_expires_at, created_at, updated_at";
  host.database.write(() =>
    host.database
      .prepare(
        `WITH RECURSIVE n (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < ?)
         INSERT INTO planning_task (task_id, position, ${columns}, ${rest})
         SELECT 'copy ' || at, 1 + at, ${columns}, ${rest} FROM planning_task, n`,
      )
      .run(maxBoardTasks),
  );

  const { boards, truncated } = await host.lead.board();

  expect(truncated).toBe(true);
  expect(boards[0]?.task_count).toBe(maxBoardTasks + 1);
  const shown = Object.values(boards[0]?.columns ?? {}).flat().length;
  expect(shown).toBeLessThanOrEqual(maxBoardTasks);
});
