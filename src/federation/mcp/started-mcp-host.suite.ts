// A host with MCP for tests, with its own folder, database and port.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import { envPlugin } from "../../caps/env/plugin.ts";
import { memoryPlugin } from "../../caps/memory/plugin.ts";
import { planningPlugin } from "../../caps/planning/plugin.ts";
import { defineTool } from "../../caps/tools/definition/define-tool.ts";
import { type ToolsPluginOptions, toolsPlugin } from "../../caps/tools/plugin.ts";
import { createMcpRoute } from "../../compose/mcp-route.ts";
import { keepSessions } from "../../durability/keep-sessions.ts";
import { A2EHost, type HostOptions } from "../../host/host.ts";
import type { AuditEntry } from "../../host/ports/audit.ts";
import type { CatalogueTool } from "../../plugin/tool-catalogue.ts";
import { startServer } from "../../server/http-server.ts";
import { createMemorySnapshotStore } from "../../stores/snapshots/memory-snapshot-store.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";

export interface StartedMcpHost {
  readonly host: A2EHost;
  readonly url: string;
  readonly workspace: string;
  readonly audited: readonly AuditEntry[];
  /** Stops host and server together, as `a2e serve` does. */
  stop(drainMs: number): Promise<void>;
  close(): Promise<void>;
}

interface StartOptions extends Partial<HostOptions> {
  tools?: readonly CatalogueTool[];
  toolsOptions?: ToolsPluginOptions;
}

/** Returns a function that starts hosts; all are closed after each test. */
export function useMcpHosts(): (options?: StartOptions) => Promise<StartedMcpHost> {
  const started: StartedMcpHost[] = [];
  afterEach(async () => {
    for (const host of started.splice(0)) await host.close();
  });
  return async (options = {}) => {
    const host = await startMcpHost(options);
    started.push(host);
    return host;
  };
}

async function startMcpHost({
  tools = [],
  toolsOptions,
  plugins = [],
  ...options
}: StartOptions = {}): Promise<StartedMcpHost> {
  const folder = await mkdtemp(join(tmpdir(), "a2e-mcp-"));
  const workspace = join(folder, "workspace");
  const audited: AuditEntry[] = [];
  const host = await A2EHost.start({
    plugins: [
      toolsPlugin({ ...toolsOptions, tools: [...tools] }),
      memoryPlugin(),
      envPlugin(),
      planningPlugin(),
      ...plugins,
    ],
    audit: { record: (entry) => void audited.push({ ...entry }), close: async () => {} },
    keeping: keepSessions,
    snapshots: createMemorySnapshotStore(),
    database: await createSqliteDatabase({ path: ":memory:" }),
    dataDir: join(folder, "data"),
    workspaceDir: workspace,
    ...options,
  });
  const server = await startServer(host, { port: 0, routes: [createMcpRoute(host)] });
  const stop = async (drainMs: number) => {
    await Promise.all([host.close(drainMs), server.close(drainMs)]);
  };
  return {
    host,
    url: server.url,
    workspace,
    audited,
    stop,
    async close() {
      await stop(0);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Adds two numbers, and returns structured data. */
export const addTool = defineTool({
  name: "add",
  description: "Adds two numbers.",
  idempotent: true,
  annotations: { title: "Addition", readOnlyHint: true },
  input: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
    additionalProperties: false,
  },
  output: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
  run: ({ a, b }) => ({ sum: Number(a) + Number(b) }),
});
