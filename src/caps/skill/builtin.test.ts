import { expect, test } from "vitest";
import { startSkills } from "./start-skills.suite.ts";

test("the skills of the package are listed with every field that an agent on the SDK needs", async () => {
  await using host = await startSkills({ builtin: true });

  const { skills } = await host.skills.discover();

  expect(skills.map(({ name, kind, source }) => [name, kind, source])).toEqual([
    ["csv-summary", "script", "system"],
    ["plan-research", "instructions", "system"],
    ["text-statistics", "script", "system"],
  ]);
});

test("the built-in skill in Python runs", async () => {
  await using host = await startSkills({ builtin: true });

  const { data } = await host.skills.call({ name: "csv-summary", arguments: { csv: "a,b\n1,x\n3,y\n" } });

  expect(data).toMatchObject({
    success: true,
    data: {
      rows: 2,
      columns: [
        { name: "a", kind: "number", mean: 2 },
        { name: "b", kind: "text" },
      ],
    },
    events: [{ kind: "progress", seq: 1, data: { column: "a", percent: 50 } }, { seq: 2 }],
  });
});

test("built-in instructions are returned with their arguments filled in", async () => {
  await using host = await startSkills({ builtin: true });

  const { data } = await host.skills.call({ name: "plan-research", arguments: { topic: "tides" } });

  expect(data?.data).toMatchObject({
    instructions: expect.stringContaining("# A plan for: tides\n\nDepth: normal."),
    resources: [{ path: "references/sources.md" }],
  });
});
