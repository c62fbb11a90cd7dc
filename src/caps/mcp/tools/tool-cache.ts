// The last known tools of servers: agents see them before a server is started, so that it can be started when it is
// needed.
import { createHash } from "node:crypto";
import type { Tool } from "@modelcontextprotocol/client";
import type { Database } from "../../../plugin/ports/database.ts";
import { mcpLimits } from "../limits.ts";
import type { ServerConfig } from "../server-config.ts";

export interface CachedTools {
  readonly tools: readonly Tool[];
  readonly version: string;
}

export interface ToolCache {
  get(config: ServerConfig): CachedTools | undefined;
  set(config: ServerConfig, cached: CachedTools): void;
}

const migrations = ["CREATE TABLE mcp_tools (server TEXT PRIMARY KEY, tools TEXT NOT NULL) WITHOUT ROWID"];

/** For servers of the config: survives a restart of the host. */
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

/** For servers that act for one agent: their tools are visible to that agent only, and are kept in memory. */
export class AgentToolCache {
  readonly #remembered = new Map<string, CachedTools>();

  of(owner: string): ToolCache {
    return {
      get: (config) => this.#remembered.get(keyOf(config, owner)),
      set: (config, cached) => {
        const key = keyOf(config, owner);
        this.#remembered.delete(key);
        this.#remembered.set(key, cached);
        const [oldest] = this.#remembered.keys();
        if (this.#remembered.size > mcpLimits.maxRememberedServers && oldest !== undefined)
          this.#remembered.delete(oldest);
      },
    };
  }
}

export const noToolCache: ToolCache = { get: () => undefined, set() {} };

/**
 * A server at another address, or started in another way, is another server. The key is a hash, so it reveals no
 * secrets.
 */
function keyOf({ id, endpoint }: ServerConfig, owner = ""): string {
  const place = endpoint.transport === "stdio" ? [...endpoint.cmd, endpoint.cwd] : [endpoint.url.href];
  // The credentials may decide which tools a server shows. Servers of the config have the same credentials for every
  // session.
  const names = endpoint.transport === "stdio" ? endpoint.env : endpoint.headers;
  return createHash("sha256")
    .update(JSON.stringify([id, endpoint.transport, place, owner, owner === "" ? {} : names]))
    .digest("hex");
}
