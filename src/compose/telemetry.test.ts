import { expect, onTestFinished, test, vi } from "vitest";
import { toHostConfig } from "../config/parsing.ts";
import type { A2EHostConfigInput } from "../config/schema.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { startConfiguredServer } from "./configured-server.ts";

const nextFolder = useTemporaryFolder();
const loaded = vi.hoisted(() => ({ modules: [] as string[], isInstalled: true }));
vi.mock("../telemetry/host-metrics.ts", async (original) => {
  loaded.modules.push("metrics");
  return original();
});
vi.mock("../telemetry/call-spans.ts", async (original) => {
  loaded.modules.push("traces");
  return original();
});
vi.mock("@opentelemetry/api", async (original) => {
  loaded.modules.push("api");
  if (!loaded.isInstalled) throw new Error("Cannot find package");
  return original();
});

async function start(telemetry: A2EHostConfigInput["telemetry"]) {
  const config = toHostConfig({ server: { port: 0 }, telemetry }, { baseDir: nextFolder(), env: {} });
  const server = await startConfiguredServer(config);
  onTestFinished(() => server.close(0));
  return server;
}

test("nothing of telemetry is loaded without it, and only the part that is on", async () => {
  await start({});
  expect(loaded.modules).toEqual([]);
  await start({ metrics: true });
  expect(loaded.modules).toEqual(["metrics"]);
});

test("traces without the package of OpenTelemetry are refused with the command that installs it", async () => {
  loaded.isInstalled = false;
  await expect(start({ traces: true })).rejects.toThrow("npm install @opentelemetry/api");
});
