// The options of the mcp plugin, spelled as in a config file.
import { resolve } from "node:path";
import * as z from "zod";
import { parsePluginOptions, pluginEntryFields } from "../../host/config/plugin-options.ts";
import { ConfigError } from "../../host/config/problem.ts";
import { mcpLimits } from "./limits.ts";
import { type ServerConfig, serverIdSchema, serverSettings, toServerConfig } from "./server-config.ts";

/** @public The generator writes the reference page from it. */
export const optionsSchema = z.strictObject({
  /** Servers by the id that their tools begin with. */
  servers: z.record(serverIdSchema, serverSettings).default({}),
  /** What agents may register themselves. Nothing by default: to name a program is to run it. */
  registration: z
    .strictObject({
      /** Each a program and its arguments, `*` for any characters within one; a last `...` for any further arguments. */
      commands: z.array(z.array(z.string()).min(1)).default([]),
      /** Names of environment variables that an agent may set for such a program. */
      env: z.array(z.string()).default([]),
      /** Addresses, `*` for any characters. */
      urls: z.array(z.string()).default([]),
      max_servers: z.int().min(0).default(mcpLimits.maxRegisteredServers),
    })
    .prefault({}),
  /** Where users are sent back to once they have authorised; the host listens there only while one is awaited. */
  callback_url: z.url().default("http://127.0.0.1:7635/mcp/callback"),
  connect_timeout_ms: z.int().min(1).default(mcpLimits.connectTimeoutMs),
  ask_timeout_ms: z.int().min(1).default(mcpLimits.askTimeoutMs),
  /** 0 for no pings. */
  ping_interval_ms: z.int().min(0).default(mcpLimits.pingIntervalMs),
  initial_backoff_ms: z.int().min(1).default(mcpLimits.initialBackoffMs),
  max_backoff_ms: z.int().min(1).default(mcpLimits.maxBackoffMs),
  max_message_bytes: z.int().min(1024).default(mcpLimits.maxMessageBytes),
  ...pluginEntryFields,
});

export type McpOptions = z.input<typeof optionsSchema>;

export interface ParsedMcpOptions extends Omit<z.output<typeof optionsSchema>, "servers"> {
  servers: ServerConfig[];
}

const source = "options of the mcp plugin";

/** Throws a ConfigError that names each bad key and the nearest valid one. */
export function parseMcpOptions(options: unknown): ParsedMcpOptions {
  const parsed = parsePluginOptions(optionsSchema, options, source);
  const servers = Object.entries(parsed.servers).map(([id, settings]) => {
    try {
      return inFolder(toServerConfig(id, settings), parsed.base_dir);
    } catch (error) {
      throw new ConfigError([{ path: `servers.${id}`, message: (error as Error).message }], source);
    }
  });
  return { ...parsed, servers };
}

/** Programs of a config run where the config is, or in a folder named from there. */
function inFolder(config: ServerConfig, baseDir: string): ServerConfig {
  const { endpoint } = config;
  if (endpoint.transport !== "stdio") return config;
  return { ...config, endpoint: { ...endpoint, cwd: resolve(baseDir, endpoint.cwd) } };
}
