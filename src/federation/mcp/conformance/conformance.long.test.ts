import { expect, test } from "vitest";
import { useMcpHosts } from "../started-mcp-host.suite.ts";
import { expectedServerFailures } from "./expected-failures.suite.ts";
import { runConformance } from "./run-conformance.suite.ts";
import { testServerPlugin } from "./test-server-plugin.suite.ts";
import { testTools } from "./test-tools.suite.ts";

const startHost = useMcpHosts();

test("/mcp passes every server scenario of the MCP project's suite except the expected failures", async () => {
  const { url } = await startHost({ tools: testTools, plugins: [testServerPlugin()] });

  const { exitCode, output } = await runConformance(
    "server",
    ["--url", `${url}/mcp`, "--suite", "all"],
    expectedServerFailures,
  );

  expect(output).toContain("dns-rebinding-protection");
  expect({ exitCode, output: exitCode === 0 ? "" : output }).toEqual({ exitCode: 0, output: "" });
});

test("an expected failure that passes fails the run", async () => {
  const { url } = await startHost();

  const run = await runConformance("server", ["--url", `${url}/mcp`, "--scenario", "ping"], { ping: "it passes" });

  expect(run.exitCode).toBe(1);
});
