import { expect, test } from "vitest";
import { tables } from "../../../caps/tables.generated.ts";
import { toCallTools } from "./capability-tools.ts";
import { exposedCalls } from "./exposed-calls.ts";

test("every call that is a tool is a call of its table", () => {
  for (const [name, exposures] of Object.entries(exposedCalls)) {
    const table = Object.values(tables).find((candidate) => candidate.name === name);
    const types = Object.values(table?.calls ?? {}).map(({ type }) => type);
    expect(types, name).toEqual(expect.arrayContaining(Object.keys(exposures)));
  }
});

test("names are such as models can call, each there once, and say what they do", () => {
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
