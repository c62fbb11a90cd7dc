// Random operations, compared with a model that is too simple to be wrong.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { A2EClientError } from "../../client/errors.ts";
import { type PlanningApi, startPlanning } from "./start-planning.suite.ts";

interface ModelTask {
  id: string;
  deps: string[];
  status: string;
  priority: number;
  claimedUntil: number;
}

const columns = ["todo", "doing", "done"];
const index = fc.nat({ max: 9 });
const operation = fc.oneof(
  fc.record({
    kind: fc.constant("add" as const),
    deps: fc.array(index, { maxLength: 3 }),
    priority: fc.nat({ max: 4 }),
  }),
  fc.record({ kind: fc.constant("depend" as const), at: index, deps: fc.array(index, { minLength: 1, maxLength: 3 }) }),
  fc.record({ kind: fc.constant("move" as const), at: index, to: fc.constantFrom(...columns) }),
  fc.record({ kind: fc.constant("delete" as const), at: index }),
  fc.record({ kind: fc.constant("claim" as const) }),
  fc.record({ kind: fc.constant("wait" as const), seconds: fc.nat({ max: 20 }) }),
);
type Operation = typeof operation extends fc.Arbitrary<infer Value> ? Value : never;

/** Repeatedly removes tasks without remaining dependencies: the tasks that are left form a cycle. */
function hasCycle(tasks: readonly ModelTask[]): boolean {
  let left = [...tasks];
  for (;;) {
    const ids = new Set(left.map(({ id }) => id));
    const next = left.filter(({ deps }) => deps.some((id) => ids.has(id)));
    if (next.length === left.length) return left.length > 0;
    left = next;
  }
}

class Model {
  tasks: ModelTask[] = [];

  ready(now: number): string[] {
    const isDone = (id: string) => this.tasks.some((task) => task.id === id && task.status === "done");
    return this.tasks
      .filter(({ status, deps, claimedUntil }) => status !== "done" && claimedUntil <= now && deps.every(isDone))
      .sort((one, other) => one.priority - other.priority)
      .map(({ id }) => id);
  }
}

async function codeOf(attempt: Promise<unknown>): Promise<string> {
  return attempt.then(
    () => "",
    ({ code }: A2EClientError) => code,
  );
}

async function apply(model: Model, api: PlanningApi, plan_id: string, now: number, step: Operation): Promise<void> {
  const pick = (at: number) => model.tasks[at % Math.max(1, model.tasks.length)];
  const idsOf = (deps: number[]) => [...new Set(deps.flatMap((at) => pick(at)?.id ?? []))];
  switch (step.kind) {
    case "add": {
      const deps = idsOf(step.deps);
      const { task_id } = await api.addTask({ plan_id, title: "x", deps, priority: step.priority });
      model.tasks.push({ id: task_id, deps, status: "todo", priority: step.priority, claimedUntil: 0 });
      return;
    }
    case "depend": {
      const task = pick(step.at);
      if (task === undefined) return;
      const changed = { ...task, deps: idsOf(step.deps) };
      const after = model.tasks.map((other) => (other === task ? changed : other));
      const code = await codeOf(api.updateTask({ task_id: task.id, deps: changed.deps }));
      expect(code).toBe(hasCycle(after) ? "dependency_cycle" : "");
      if (code === "") model.tasks = after;
      return;
    }
    case "move": {
      const task = pick(step.at);
      if (task === undefined) return;
      await api.updateTask({ task_id: task.id, status: step.to });
      if (step.to === "done" && task.status !== "done") task.claimedUntil = 0;
      task.status = step.to;
      return;
    }
    case "delete": {
      const task = pick(step.at);
      if (task === undefined) return;
      const isNeeded = model.tasks.some(({ deps }) => deps.includes(task.id));
      expect(await codeOf(api.deleteTask({ task_id: task.id }))).toBe(isNeeded ? "has_dependents" : "");
      if (!isNeeded) model.tasks = model.tasks.filter((other) => other !== task);
      return;
    }
    case "claim": {
      const [first] = model.ready(now);
      const claimed = await api.claim({ plan_id, lease_seconds: 10 }).catch(() => undefined);
      expect(claimed?.task_id).toBe(first);
      for (const task of model.tasks) if (task.id === first) task.claimedUntil = now + 10_000;
    }
  }
}

test("after any operations on a plan, no task depends on itself and the ready tasks are correct", async () => {
  await using host = await startPlanning({ max_plans: 100_000 });
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 40 }), async (operations) => {
      const model = new Model();
      const { plan_id } = await host.lead.createPlan({ columns });
      for (const step of operations) {
        if (step.kind === "wait") host.clock.advance(step.seconds * 1000);
        else await apply(model, host.lead, plan_id, host.clock.now(), step);

        const { tasks } = await host.lead.listTasks({ plan_id });
        expect(tasks.map(({ task_id, deps, status }) => ({ task_id, deps, status }))).toEqual(
          model.tasks.map(({ id, deps, status }) => ({ task_id: id, deps, status })),
        );
        expect(hasCycle(model.tasks)).toBe(false);
        const ready = await host.lead.ready({ plan_id });
        expect(ready.tasks.map(({ task_id }) => task_id)).toEqual(model.ready(host.clock.now()));
      }
    }),
    { numRuns: process.env.SOAK === undefined ? 60 : 5000 },
  );
});
