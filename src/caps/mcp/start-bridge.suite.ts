// A host with tools and the bridge, and test servers; only for the tests of this folder.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { startHost } from "../../testing/start-host.ts";
import { toolsPlugin } from "../tools/plugin.ts";
import type { McpOptions } from "./options.ts";
import { mcpPlugin } from "./plugin.ts";
import type { ServerInfo } from "./protocol.ts";
import type { ServerSettings } from "./server-config.ts";

const require = createRequire(import.meta.url);

/** An installed server of the MCP project. */
export function officialServer(name: "everything" | "filesystem" | "memory", ...args: string[]): [string, ...string[]] {
  return [process.execPath, require.resolve(`@modelcontextprotocol/server-${name}/dist/index.js`), ...args];
}

/** A test server whose behaviour is set by its arguments. */
export function ownServer(name: string, ...args: string[]): [string, ...string[]] {
  return [process.execPath, fileURLToPath(new URL(`./fixtures/${name}.mjs`, import.meta.url)), ...args];
}

export async function startBridge(servers: Record<string, ServerSettings>, options: Omit<McpOptions, "servers"> = {}) {
  const database = await createSqliteDatabase({ path: ":memory:" });
  const started = await startHost({
    plugins: [
      toolsPlugin({ builtin: false }),
      mcpPlugin({ ping_interval_ms: 0, initial_backoff_ms: 20, ...options, servers }),
    ],
    database,
  });
  const { client } = started;
  const call = async (tool_name: string, args = {}) =>
    (await client.tools.call({ tool_name, arguments: args, timeout: 120 })).data;
  return {
    ...started,
    database,
    call,
    /** Waits until a server has this status. */
    status: (server_id: string, status: string): Promise<ServerInfo> =>
      waitFor(async () => {
        const { servers } = await client.mcp.listServers({});
        const server = servers.find((one) => one.server_id === server_id);
        return server?.status === status ? server : undefined;
      }, `${server_id} to be ${status}`),
  };
}

/** Polls until there is a value, for changes that another process makes. */
export async function waitFor<Value>(
  look: () => Value | undefined | Promise<Value | undefined>,
  what: string,
  withinMs = 120_000,
): Promise<Value> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
