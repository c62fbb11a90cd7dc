import { expect, test } from "vitest";
import { parsePlanningOptions } from "./options.ts";
import { createPlugin } from "./plugin.ts";
import { startPlanning } from "./start-planning.suite.ts";

test("an empty config has every default", () => {
  expect(parsePlanningOptions({})).toMatchObject({
    shared: false,
    columns: ["backlog", "todo", "in_progress", "done"],
    lease_seconds: 300,
  });
});

test.each([
  [{ sharde: true }, 'sharde: is not an option here; did you mean "shared"?'],
  [{ shared: "yes" }, 'shared: expected true or false, found "yes"'],
  [{ columns: [] }, "columns: expected at least 1"],
  [{ columns: ["a", "a"] }, "expected every column once"],
  [{ lease_seconds: 0 }, "lease_seconds: expected at least 1"],
])("the options %j are rejected with a hint", (options, message) => {
  expect(() => createPlugin(options)).toThrow(message);
});

test("plans that are created without columns get those of the config", async () => {
  await using host = await startPlanning({ columns: ["open", { name: "closed", is_done: true }] });

  expect(await host.lead.createPlan()).toMatchObject({ columns: ["open", "closed"] });
});
