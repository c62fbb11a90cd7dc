// One connection to a server, from the first byte to the negotiated revision. A server may have many, one after another.
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
  /** Says what the client can do before it is connected. */
  prepare(client: Client): void;
  /** Notifications came faster than they are taken: anything may have been among them. */
  onDropped(): void;
  onError(error: Error): void;
}

export interface Connection {
  readonly client: Client;
  readonly openedAt: number;
  readonly version: string;
  readonly isStateless: boolean;
  readonly dropped: number;
  /** The result, or what stands for the task that the server made of the call. */
  callTool(name: string, args: JsonObject, options: DirectOptions): Promise<CallToolResult>;
  /** Takes the progress of what outlives its request, until the returned function is called. */
  followProgress(token: string, onProgress: (progress: Progress) => void): () => void;
  close(): Promise<void>;
}

/** Newest revision first; older ones, and older transports, where the server knows nothing else. */
export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  const { endpoint } = options.config;
  try {
    return await open(options, createTransport(endpoint, options));
  } catch (error) {
    options.signal.throwIfAborted();
    // Servers built on some older SDKs end at any request before `initialize`, the question after the revision included.
    if (endpoint.transport === "stdio" && isConnectError(error, options.sdk))
      return open(options, createTransport(endpoint, options), { kind: "legacy" });
    // The way of 2025 for a server of 2024: what it does not take as a POST, it may give out as a stream.
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
    // The SDK waits for a transport to start, however long that takes.
    await within(client.connect(transport, connectOptions), signal);
  } catch (error) {
    await inner.close().catch(() => {});
    throw error;
  }
  const isStateless = client.getProtocolEra() === "modern";
  // What belongs to one request only, as its headers and its questions do, the SDK knows best.
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
      // A server that has sessions can end this one; one that does not hear of it does so in its own time.
      if (inner instanceof sdk.StreamableHTTPClientTransport)
        await isDoneWithin(
          inner.terminateSession().catch(() => {}),
          mcpLimits.goodbyeMs,
        );
      await client.close();
      // The client closes what it was connected to; one that never got that far is closed here.
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
        // Over a pipe silence means an older server; over a network it is only slow.
        probe: { timeoutMs: config.endpoint.transport === "stdio" ? mcpLimits.probeTimeoutMs : connectTimeoutMs },
      },
      // Schemas come from servers, and a validator runs what they say: a schema can be made to take forever. They are
      // shown to agents, never run here; servers check their own input.
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

/** The stateless revision has no level of logging to set: each request says which it wants. */
function createToolCall(client: Client, meta: { [key: string]: string | undefined }): Connection["callTool"] {
  const given = Object.fromEntries(Object.entries(meta).filter(([, value]) => value !== undefined));
  const rest = Object.keys(given).length === 0 ? {} : { _meta: given };
  return (name, args, { signal, timeoutMs: timeout, onProgress: onprogress }) =>
    client.callTool({ name, arguments: args, ...rest }, { signal, timeout, onprogress });
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
        // Whoever names the issuer has it checked where the metadata is kept.
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
