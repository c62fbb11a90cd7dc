// Every client scenario of the MCP project's own suite, against the bridge.
import { describe, expect, test } from "vitest";
import { runConformance } from "../../../federation/mcp/conformance/run-conformance.suite.ts";
import { runScenario } from "./run-scenario.suite.ts";

/** Scenarios that the bridge does not pass, each with the reason. An entry that passes must be removed. */
const expectedFailures: Readonly<Record<string, string>> = {};

// In sequence: one of them measures time, and all at once would overload a small machine.
const scenarios = [
  "initialize",
  "tools_call",
  "elicitation-sep1034-client-defaults",
  "sse-retry",
  "auth/metadata-default",
  "auth/metadata-var1",
  "auth/metadata-var2",
  "auth/metadata-var3",
  "auth/basic-cimd",
  "auth/scope-from-www-authenticate",
  "auth/scope-from-scopes-supported",
  "auth/scope-omitted-when-undefined",
  "auth/scope-step-up",
  "auth/scope-retry-limit",
  "auth/token-endpoint-auth-basic",
  "auth/token-endpoint-auth-post",
  "auth/token-endpoint-auth-none",
  "auth/pre-registration",
  "auth/2025-03-26-oauth-metadata-backcompat",
  "auth/2025-03-26-oauth-endpoint-fallback",
  "auth/resource-mismatch",
  "auth/offline-access-scope",
  "auth/offline-access-not-supported",
  "auth/client-credentials-jwt",
  "auth/client-credentials-basic",
  "auth/cross-app-access-complete-flow",
] as const;

describe("the MCP project's suite", () => {
  test.each(scenarios)("passes the client scenario %s", async (scenario) => {
    const { exitCode, output } = await runScenario(scenario, expectedFailures[scenario]);

    expect({ exitCode, output: exitCode === 0 ? "" : output }).toEqual({ exitCode: 0, output: "" });
  });

  test("has no client scenario that is not run here", async () => {
    const { output } = await runConformance("list", ["--client"]);

    const listed = [...output.matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name);
    expect(new Set(listed)).toEqual(new Set(scenarios));
  });

  test("fails the run for an expected failure that passes", async () => {
    expect((await runScenario("initialize", "it passes")).exitCode).toBe(1);
  });
});
