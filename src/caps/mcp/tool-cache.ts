// The tools that servers had the last time: shown before a server is started, so that it can wait until it is needed.
import { createHash } from "node:crypto";
import type { Tool } from "@modelcontextprotocol/client";
import type { Database } from "../../host/database.ts";
import type { ServerConfig } from "./server-config.ts";

export interface CachedTools {
  readonly tools: readonly Tool[];
  readonly version: string;
}

export interface ToolCache {
  get(config: ServerConfig): CachedTools | undefined;
  set(config: ServerConfig, cached: CachedTools): void;
}

const migrations = ["CREATE TABLE mcp_tools (server TEXT PRIMARY KEY, tools TEXT NOT NULL) WITHOUT ROWID"];

export function openToolCache(database: Database): ToolCache {
  database.migrate("mcp_tools", migrations);
  const read = database.prepare("SELECT tools FROM mcp_tools WHERE server = ?");
  const write = database.prepare("INSERT OR REPLACE INTO mcp_tools (server, tools) VALUES (?, ?)");
  return {
    get(config) {
      const row = read.get(keyOf(config));
      return row === undefined ? undefined : (JSON.parse(String(row.tools)) as CachedTools);
    },
    set(config, cached) {
      const [key, tools] = [keyOf(config), JSON.stringify(cached)];
      if (read.get(key)?.tools !== tools) database.write(() => write.run(key, tools));
    },
  };
}

export const noToolCache: ToolCache = { get: () => undefined, set() {} };

/** A server at another place, or started otherwise, is another server. The key tells nothing of what it is made from. */
function keyOf({ id, endpoint }: ServerConfig): string {
  const place = endpoint.transport === "stdio" ? [...endpoint.cmd, endpoint.cwd] : [endpoint.url.href];
  return createHash("sha256")
    .update(JSON.stringify([id, endpoint.transport, place]))
    .digest("hex");
}
