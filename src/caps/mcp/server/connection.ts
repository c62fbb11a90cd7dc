// One connection to a server, from the first byte to the negotiated revision. A server may have many, one after
// another.
import type {
  CallToolResult,
  Client,
  ClientCapabilities,
  OAuthClientProvider,
  Progress,
  Transport,
} from "@modelcontextprotocol/client";
import type { OrphanGuard } from "../../../machinery/processes/orphan-guard.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { mcpLimits } from "../limits.ts";
import type { Sdk } from "../sdk/sdk.ts";
import { isDoneWithin, within } from "../sdk/within.ts";
import type { Endpoint, ServerConfig } from "../server-config.ts";
import { callDirectly } from "../tools/direct-call.ts";
import type { DirectOptions } from "../transports/direct-requests.ts";
import { GuardedTransport } from "../transports/guarded.ts";
import type { StderrLog } from "../transports/stderr-log.ts";
import { StdioTransport } from "../transports/stdio.ts";
import { tasksExtension } from "../transports/task-handle.ts";
import { WebSocketTransport } from "../transports/websocket.ts";

export interface ConnectionOptions {
  readonly sdk: Sdk;
  readonly config: ServerConfig;
  readonly connectTimeoutMs: number;
  readonly maxMessageBytes: number;
  readonly stderr: StderrLog;
  readonly guard: OrphanGuard;
  readonly fetch: typeof fetch;
  readonly authorization: OAuthClientProvider | undefined;
  readonly signal: AbortSignal;
  now(): number;
  /** Registers the handlers of the client before it is connected. */
  prepare(client: Client): void;
  /** Notifications were dropped because they came too fast; any kind may have been among them. */
  onDropped(): void;
  onError(error: Error): void;
}

export interface Connection {
  readonly client: Client;
  readonly openedAt: number;
  readonly version: string;
  readonly isStateless: boolean;
  readonly dropped: number;
  /** The result, or a result that stands for the task which the server created for the call. */
  callTool(name: string, args: JsonObject, options: DirectOptions): Promise<CallToolResult>;
  /** Receives progress for work that outlives its request, until the returned function is called. */
  followProgress(token: string, onProgress: (progress: Progress) => void): () => void;
  close(): Promise<void>;
}

/** Tries the newest revision first, then older revisions and transports if the server supports nothing else. */
export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  const { endpoint } = options.config;
  try {
    return await open(options, createTransport(endpoint, options));
  } catch (error) {
    options.signal.throwIfAborted();
    // Servers built on some older SDKs exit at any request before `initialize`, also at the probe for the revision.
    if (endpoint.transport === "stdio" && isConnectError(error, options.sdk))
      return open(options, createTransport(endpoint, options), { kind: "legacy" });
    // How clients of 2025 detect a server of 2024: if it rejects the POST, it may offer an event stream.
    if (endpoint.transport === "http" && isClientFault(error, options.sdk))
      return open(options, createTransport({ ...endpoint, transport: "sse" }, options), { kind: "legacy" }).catch(
        () => {
          throw error;
        },
      );
    throw error;
  }
}

async function open(options: ConnectionOptions, inner: Transport, prior?: { kind: "legacy" }): Promise<Connection> {
  const { sdk, config, connectTimeoutMs, signal } = options;
  const transport = new GuardedTransport(inner, options.now, options.onDropped);
  const client = createClient(options);
  client.onerror = options.onError;
  options.prepare(client);
  try {
    const connectOptions = { timeout: connectTimeoutMs, signal, ...(prior === undefined ? {} : { prior }) };
    // The SDK waits for a transport to start without a limit.
    await within(client.connect(transport, connectOptions), signal);
  } catch (error) {
    await inner.close().catch(() => {});
    throw error;
  }
  const isStateless = client.getProtocolEra() === "modern";
  // Over HTTP and in the stateless revision, headers and server requests belong to single requests: the SDK handles
  // those.
  const isPlain = !isStateless && (inner instanceof StdioTransport || inner instanceof WebSocketTransport);
  return {
    client,
    openedAt: options.now(),
    version: client.getNegotiatedProtocolVersion() ?? "",
    isStateless,
    callTool: isPlain
      ? (name, args, rest) => callDirectly(transport.direct, sdk, name, args, rest)
      : createToolCall(client, isStateless ? { [sdk.LOG_LEVEL_META_KEY]: config.logLevel } : {}),
    followProgress: (token, onProgress) => transport.direct.follow(token, onProgress),
    get dropped() {
      return transport.dropped;
    },
    async close() {
      // Ends the session at servers that have sessions; if the message is lost, the server expires it.
      if (inner instanceof sdk.StreamableHTTPClientTransport)
        await isDoneWithin(
          inner.terminateSession().catch(() => {}),
          mcpLimits.goodbyeMs,
        );
      await client.close();
      // client.close() closes its transport; a client that never connected has none, so it is closed here.
      await inner.close();
    },
  };
}

const clientVersion = "0.1.0";

function createClient({ sdk, config, connectTimeoutMs }: ConnectionOptions): Client {
  return new sdk.Client(
    { name: "a2e", version: clientVersion },
    {
      capabilities: toCapabilities(config),
      versionNegotiation: {
        mode: "auto",
        // Over a pipe, silence means an older server; over a network, it only means a slow one.
        probe: { timeoutMs: config.endpoint.transport === "stdio" ? mcpLimits.probeTimeoutMs : connectTimeoutMs },
      },
      // Schemas come from servers, and a malicious schema can make a validator run forever. They are shown to agents
      // and never executed here; servers validate their own input.
      jsonSchemaValidator: {
        getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
      },
    },
  );
}

function toCapabilities({ permissions }: ServerConfig): ClientCapabilities {
  return {
    ...(permissions.sampling ? { sampling: { tools: {} } } : {}),
    ...(permissions.elicitation ? { elicitation: { form: { applyDefaults: true }, url: {} } } : {}),
    ...(permissions.roots ? { roots: {} } : {}),
    extensions: { [tasksExtension]: {} },
  };
}

/** The stateless revision has no logging level to set; each request carries its level instead. */
function createToolCall(client: Client, meta: { [key: string]: string | undefined }): Connection["callTool"] {
  const given = Object.fromEntries(Object.entries(meta).filter(([, value]) => value !== undefined));
  return (name, args, { signal, timeoutMs: timeout, meta: more, onProgress: onprogress }) => {
    const _meta = { ...given, ...more };
    const rest = Object.keys(_meta).length === 0 ? {} : { _meta };
    return client.callTool({ name, arguments: args, ...rest }, { signal, timeout, onprogress });
  };
}

function createTransport(endpoint: Endpoint, options: ConnectionOptions): Transport {
  const { sdk, maxMessageBytes, authorization, fetch } = options;
  switch (endpoint.transport) {
    case "stdio":
      return new StdioTransport({ ...endpoint, ...options });
    case "ws":
      return new WebSocketTransport({ ...endpoint, maxMessageBytes });
    default: {
      const shared = {
        requestInit: { headers: endpoint.headers },
        fetch,
        ...(authorization === undefined ? {} : { authProvider: authorization }),
        // If the config names an issuer, checkIssuer() in user-provider.ts compares it.
        skipIssuerMetadataValidation: endpoint.oauth?.issuer !== undefined,
      };
      return endpoint.transport === "sse"
        ? new sdk.SSEClientTransport(endpoint.url, shared)
        : new sdk.StreamableHTTPClientTransport(endpoint.url, shared);
    }
  }
}

function isConnectError(error: unknown, { SdkError, SdkErrorCode }: Sdk): boolean {
  const codes: string[] = [SdkErrorCode.ConnectionClosed, SdkErrorCode.NotConnected, SdkErrorCode.EraNegotiationFailed];
  return SdkError.isInstance(error) && codes.includes(error.code);
}

function isClientFault(error: unknown, { SdkHttpError }: Sdk): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (SdkHttpError.isInstance(at)) return at.data?.status !== undefined && [400, 404, 405].includes(at.data.status);
  }
  return false;
}
