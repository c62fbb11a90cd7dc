import { expect, test } from "vitest";
import { tables } from "../../../caps/tables.generated.ts";
import { toCallTools } from "./capability-tools.ts";

test("every call that a table offers as a tool has a name that models can call, used once, and a description", () => {
  const tools = toCallTools(Object.values(tables)).map(({ tool }) => tool);
  const names = tools.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const tool of tools) {
    expect(tool.name).toMatch(/^[a-z_]{3,64}$/);
    expect(tool.description).not.toBe("");
    expect(tool.inputSchema.type).toBe("object");
    expect(tool.outputSchema?.type).toBe("object");
    expect(Object.keys(tool.inputSchema.properties ?? {})).not.toContain("correlation_id");
  }
  expect(names).toEqual(
    expect.arrayContaining([
      "memory_remember",
      "memory_recall",
      "memory_forget",
      "env_reset",
      "env_step",
      "env_observe",
    ]),
  );
  expect(names).toEqual(expect.arrayContaining(["env_close", "chain_run", "planning_task_claim"]));
});
