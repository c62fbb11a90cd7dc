// The settings of a server, as written in a config or sent by an agent.
import * as z from "zod";
import { mcpLimits } from "./limits.ts";

export const transports = ["stdio", "sse", "http", "ws"] as const;
export type TransportName = (typeof transports)[number];

/** Other spellings in use, each with ours. */
const transportSpellings: Readonly<Record<string, TransportName>> = {
  streamable_http: "http",
  "streamable-http": "http",
  streamableHttp: "http",
  websocket: "ws",
};

const logLevels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

const serverIdPattern = /^[A-Za-z0-9](?:[A-Za-z0-9-]|_(?!_))*$/;

export const serverIdSchema = z
  .string()
  .max(mcpLimits.maxServerIdLength)
  .regex(serverIdPattern, "expected letters, digits, - and single _, beginning with a letter or digit");

const oauthSettings = z.strictObject({
  /** If this host is already registered at the authorisation server; without it, the host registers itself. */
  client_id: z.string().min(1).optional(),
  client_secret: z.string().min(1).optional(),
  /** Instead of client_secret, for `client_credentials`: a PEM key with which the host signs its identity. */
  private_key: z.string().min(1).optional(),
  signing_algorithm: z.string().default("ES256"),
  /** Address of a document about this client, for servers that read it instead of a registration. */
  client_metadata_url: z.url().optional(),
  scope: z.string().default(""),
  /**
   * `client_credentials` needs no user, but a client_id and a client_secret or private_key. With `identity_assertion`,
   * an identity provider vouches for the user, and the authorisation server identifies the host by client_id and
   * client_secret.
   */
  grant: z.enum(["authorization_code", "client_credentials", "identity_assertion"]).default("authorization_code"),
  identity_provider: z
    .strictObject({
      issuer: z.url(),
      /** The endpoint that exchanges tokens; discovered from the issuer by default. */
      token_endpoint: z.url().optional(),
      client_id: z.string().min(1),
      client_secret: z.string().min(1).optional(),
      /** Holds an ID token of the user. It is read each time that a token is needed, so it may be renewed there. */
      id_token_file: z.string().min(1),
    })
    .optional(),
  /**
   * The issuer that the authorisation server names in its metadata, if it differs from the address of the metadata, as
   * with some servers of 2025-03-26. Any other issuer is rejected.
   */
  issuer: z.url().optional(),
  /** Who gets the address to authorise at: the agent, or only the operator, in the host's log. */
  authorize_by: z.enum(["agent", "operator"]).optional(),
});

/** @public The generator writes the reference page from it. */
export const serverSettings = z.strictObject({
  name: z.string().max(200).default(""),
  transport: z.enum([...transports, ...Object.keys(transportSpellings)]).optional(),
  /** The program of a stdio server and its arguments; or `command` and `args`, as other hosts spell them. */
  cmd: z.array(z.string()).default([]),
  command: z.string().optional(),
  args: z.array(z.string()).default([]),
  /** The folder that the program runs in, relative to the folder of the config. */
  cwd: z.string().default(""),
  /** Added to HOME, LANG, PATH and similar variables; nothing else of the host's environment is passed on. */
  env: z.record(z.string(), z.string()).default({}),
  url: z.string().default(""),
  headers: z.record(z.string(), z.string()).default({}),
  /** Seconds until a request times out. */
  timeout: z
    .number()
    .positive()
    .max(mcpLimits.maxTimerMs / 1000)
    .default(mcpLimits.requestTimeoutMs / 1000),
  auto_reconnect: z.boolean().default(true),
  /** Names of tools, `*` for any characters; empty allows all. */
  tool_allow_list: z.array(z.string()).default([]),
  /** Addresses of resources, `*` for any characters; empty allows all. */
  resource_allow_list: z.array(z.string()).default([]),
  /** One connection for the host, or one for each session. */
  scope: z.enum(["shared", "session"]).default("shared"),
  /** `lazy` starts the server when it is first needed, if its tools are known from an earlier start. */
  start: z.enum(["lazy", "eager"]).default("lazy"),
  /** The requests that the server may send to the agent. */
  permissions: z
    .strictObject({
      sampling: z.boolean().default(false),
      elicitation: z.boolean().default(false),
      roots: z.boolean().default(false),
    })
    .prefault({}),
  /** The least severe level of messages that the server is asked to log; sent to agents as mcp/server/push. */
  log_level: z.enum(logLevels).optional(),
  /** Whether agents see the last lines of its stderr; by default only for servers that they registered. */
  show_stderr: z.boolean().optional(),
  oauth: oauthSettings.optional(),
});

export type ServerSettings = z.input<typeof serverSettings>;
type ParsedSettings = z.output<typeof serverSettings>;

/** The address or program of a server, and how to connect to it. */
export type Endpoint =
  | { transport: "stdio"; cmd: readonly [string, ...string[]]; cwd: string; env: Readonly<Record<string, string>> }
  | {
      transport: Exclude<TransportName, "stdio">;
      url: URL;
      headers: Readonly<Record<string, string>>;
      oauth: z.output<typeof oauthSettings> | undefined;
    };

export type OAuthSettings = z.output<typeof oauthSettings>;

export interface ServerConfig {
  readonly id: string;
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly timeoutMs: number;
  readonly autoReconnect: boolean;
  readonly toolAllowList: readonly string[];
  readonly resourceAllowList: readonly string[];
  readonly scope: "shared" | "session";
  readonly isLazy: boolean;
  readonly permissions: ParsedSettings["permissions"];
  readonly logLevel: ParsedSettings["log_level"];
  readonly showsStderr: boolean;
}

/** Converts parsed settings. Throws an Error that names the invalid setting. */
export function toServerConfig(id: string, settings: ParsedSettings, isOwn = false): ServerConfig {
  return {
    id,
    name: settings.name === "" ? id : settings.name,
    endpoint: toEndpoint(settings),
    timeoutMs: settings.timeout * 1000,
    autoReconnect: settings.auto_reconnect,
    toolAllowList: settings.tool_allow_list,
    resourceAllowList: settings.resource_allow_list,
    scope: isOwn ? "session" : settings.scope,
    isLazy: settings.start === "lazy",
    permissions: settings.permissions,
    logLevel: settings.log_level,
    showsStderr: settings.show_stderr ?? isOwn,
  };
}

function toEndpoint(settings: ParsedSettings): Endpoint {
  const { cwd, env, headers, oauth } = settings;
  const transport = toTransport(settings);
  if (transport === "stdio") {
    const [command, ...args] = settings.command === undefined ? settings.cmd : [settings.command, ...settings.args];
    if (command === undefined || command === "") throw new Error("cmd: a stdio server needs a program to run");
    if (settings.url !== "") throw new Error("url: not allowed for a stdio server");
    return { transport, cmd: [command, ...args], cwd, env };
  }
  return { transport, url: toUrl(settings.url, transport), headers, oauth };
}

function toTransport({ transport, url }: ParsedSettings): TransportName {
  if (transport === undefined) return url === "" ? "stdio" : url.startsWith("ws") ? "ws" : "http";
  return transportSpellings[transport] ?? (transport as TransportName);
}

function toUrl(text: string, transport: TransportName): URL {
  const protocols = transport === "ws" ? ["ws:", "wss:"] : ["http:", "https:"];
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !protocols.includes(url.protocol))
    throw new Error(`url: expected an address that begins with ${protocols.map((p) => `${p}//`).join(" or ")}`);
  // A password in an address ends up in logs, and `user@` in front of a host makes an address look like another.
  if (url.username !== "" || url.password !== "")
    throw new Error("url: must not contain credentials, put them into headers");
  return url;
}
