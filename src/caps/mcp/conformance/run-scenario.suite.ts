import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { runConformance } from "../../../federation/mcp/conformance/run-conformance.suite.ts";

const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const client = fileURLToPath(new URL("./client.suite.ts", import.meta.url));
const command = `${process.execPath} --import ${loader} ${client}`;

/** Runs one client scenario of the MCP project's suite against the bridge; `reason` is why it is expected to fail. */
export function runScenario(scenario: string, reason?: string) {
  const args = ["--command", command, "--scenario", scenario, "--timeout", "90000"];
  return runConformance("client", args, reason === undefined ? {} : { [scenario]: reason });
}
