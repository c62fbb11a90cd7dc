// One client scenario of the MCP project's own suite; conformance.long.test.ts runs all of them.
import { expect, test } from "vitest";
import { runScenario } from "./run-scenario.suite.ts";

test("the bridge passes the scenario tools_call of the MCP project's suite", async () => {
  const { exitCode, output } = await runScenario("tools_call");

  expect({ exitCode, output: exitCode === 0 ? "" : output }).toEqual({ exitCode: 0, output: "" });
});
