// The options of the mcp plugin, spelled as in a config file.
import { resolve } from "node:path";
import * as z from "zod";
import { parsePluginOptions, pluginEntryFields } from "../../machinery/options/plugin-options.ts";
import { ConfigError } from "../../machinery/options/problem.ts";
import { mcpLimits } from "./limits.ts";
import { type ServerConfig, serverIdSchema, serverSettings, toServerConfig } from "./server-config.ts";

const milliseconds = z.int().min(1).max(mcpLimits.maxTimerMs);

/** @public The generator writes the reference page from it. */
export const optionsSchema = z.strictObject({
  /** Servers by id; the names of their tools begin with it. */
  servers: z.record(serverIdSchema, serverSettings).default({}),
  /** Servers that agents may register. None by default: an agent that may name a program can run it. */
  registration: z
    .strictObject({
      /**
       * Each entry is a program and its arguments; `*` matches any characters within an argument, a last `...` any
       * further arguments.
       */
      commands: z.array(z.array(z.string()).min(1)).default([]),
      /** Names of environment variables that an agent may set for such a program. */
      env: z.array(z.string()).default([]),
      /** Addresses; `*` matches any characters. */
      urls: z.array(z.string()).default([]),
      max_servers: z.int().min(0).default(mcpLimits.maxRegisteredServers),
    })
    .prefault({}),
  /**
   * The address that users return to after they authorised; the host listens there only while an authorisation is
   * pending.
   */
  callback_url: z.url().default("http://127.0.0.1:7635/mcp/callback"),
  connect_timeout_ms: milliseconds.default(mcpLimits.connectTimeoutMs),
  ask_timeout_ms: milliseconds.default(mcpLimits.askTimeoutMs),
  /** 0 disables pings. */
  ping_interval_ms: z.int().min(0).max(mcpLimits.maxTimerMs).default(mcpLimits.pingIntervalMs),
  ping_timeout_ms: milliseconds.default(mcpLimits.pingTimeoutMs),
  initial_backoff_ms: milliseconds.default(mcpLimits.initialBackoffMs),
  max_backoff_ms: milliseconds.default(mcpLimits.maxBackoffMs),
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

/** Relative paths in a config are relative to the folder of the config. */
function inFolder(config: ServerConfig, baseDir: string): ServerConfig {
  const { endpoint } = config;
  if (endpoint.transport === "stdio")
    return { ...config, endpoint: { ...endpoint, cwd: resolve(baseDir, endpoint.cwd) } };
  const { identity_provider } = endpoint.oauth ?? {};
  if (endpoint.oauth === undefined || identity_provider === undefined) return config;
  const id_token_file = resolve(baseDir, identity_provider.id_token_file);
  const oauth = { ...endpoint.oauth, identity_provider: { ...identity_provider, id_token_file } };
  return { ...config, endpoint: { ...endpoint, oauth } };
}
