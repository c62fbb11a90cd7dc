// Requests as the Python SDK sends them, with every field at its default, and answers that it can parse, without null.
import { expect, test } from "vitest";
import type { Message } from "../../protocol/envelope.ts";
import type { JsonValue } from "../../protocol/json.ts";
import { startPlanning } from "./start-planning.suite.ts";

const kindOf = (value: unknown) => (Array.isArray(value) ? "list" : typeof value);

function hasNull(value: JsonValue | undefined): boolean {
  if (value === null) return true;
  return typeof value === "object" && Object.values(value).some(hasNull);
}

test("requests of the SDK are answered in shapes that its decoder accepts", async () => {
  await using host = await startPlanning();
  const { lead } = host;
  const { plan_id } = await lead.createPlan({ name: "default", columns: [], description: "" });
  const task = { status: "backlog", description: "", assignee: "", deps: [], metadata: {} };
  const { task_id } = await lead.addTask({ plan_id, title: "a", ...task });
  await lead.updateTask({ plan_id, task_id, status: "todo", assignee: "", deps: [] });
  await lead.updateTask({ plan_id, task_id, status: "", assignee: "", deps: [] });
  await lead.listTasks({ plan_id: "", status: "" });
  await lead.board({ plan_id: "" });
  await lead.listPlans({});

  const answers = host.wire.filter(
    ({ direction, message }) => direction === "received" && message.type !== "handshake/resp",
  );
  const shapes: Record<string, Record<string, string>> = {
    "planning/plan/create/resp": { success: "boolean", plan_id: "string", columns: "list" },
    "planning/task/add/resp": { success: "boolean", task_id: "string", status: "string" },
    "planning/task/update/resp": { success: "boolean", task_id: "string" },
    "planning/task/list/resp": { tasks: "list" },
    "planning/plan/board/resp": { boards: "list" },
    "planning/plan/list/resp": { plans: "list" },
  };
  expect(new Set(answers.map(({ message }) => message.type))).toEqual(new Set(Object.keys(shapes)));
  for (const { message } of answers) {
    for (const [field, kind] of Object.entries(shapes[message.type] ?? {})) expect(kindOf(message[field])).toBe(kind);
    expect(Object.values(message).some(hasNull)).toBe(false);
    for (const list of ["tasks", "boards", "plans"])
      for (const item of (message[list] as Message[] | undefined) ?? []) expect(kindOf(item)).toBe("object");
  }
});
