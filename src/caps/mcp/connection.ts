// One connection to a server, from the first byte to the negotiated revision. A server may have many, one after another.
import type {
  CallToolResult,
  Client,
  ClientCapabilities,
  OAuthClientProvider,
  Transport,
} from "@modelcontextprotocol/client";
import type { JsonObject } from "../../protocol/json.ts";
import { coalesceRefreshes } from "./authorization/coalesced-fetch.ts";
import { mcpLimits } from "./limits.ts";
import type { Sdk } from "./sdk.ts";
import type { Endpoint, ServerConfig } from "./server-config.ts";
import { findFlaw, toCallResult } from "./tool-result.ts";
import type { DirectFailure, DirectOptions, DirectRequests } from "./transports/direct-requests.ts";
import { GuardedTransport } from "./transports/guarded.ts";
import { limitBodies } from "./transports/limited-fetch.ts";
import type { ProcessKeeper } from "./transports/process-keeper.ts";
import type { StderrLog } from "./transports/stderr-log.ts";
import { StdioTransport } from "./transports/stdio.ts";
import { WebSocketTransport } from "./transports/websocket.ts";

export interface ConnectionOptions {
  readonly sdk: Sdk;
  readonly config: ServerConfig;
  readonly connectTimeoutMs: number;
  readonly maxMessageBytes: number;
  readonly stderr: StderrLog;
  readonly keeper: ProcessKeeper;
  readonly authorization: OAuthClientProvider | undefined;
  readonly signal: AbortSignal;
  now(): number;
  /** Says what the client can do before it is connected. */
  prepare(client: Client): void;
  onError(error: Error): void;
}

export interface Connection {
  readonly client: Client;
  readonly openedAt: number;
  readonly version: string;
  readonly isStateless: boolean;
  readonly dropped: number;
  callTool(name: string, args: JsonObject, options: DirectOptions): Promise<CallToolResult>;
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
  const transport = new GuardedTransport(inner, options.now);
  const client = new sdk.Client(
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
  client.onerror = options.onError;
  options.prepare(client);
  const close = async () => {
    // Not waited for: a session that the server keeps a while longer does no harm.
    if (inner instanceof sdk.StreamableHTTPClientTransport) inner.terminateSession().catch(() => {});
    await client.close();
    // The client closes what it was connected to; one that never got that far is closed here.
    await inner.close();
  };
  try {
    await client.connect(transport, { timeout: connectTimeoutMs, signal, ...(prior === undefined ? {} : { prior }) });
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
      : (name, args, { signal, timeoutMs: timeout, onProgress: onprogress }) =>
          client.callTool({ name, arguments: args }, { signal, timeout, onprogress }),
    get dropped() {
      return transport.dropped;
    },
    close,
  };
}

const clientVersion = "0.1.0";

/** The same as the SDK's `callTool`, with the same errors. */
function callDirectly(
  direct: DirectRequests,
  sdk: Sdk,
  name: string,
  args: JsonObject,
  options: DirectOptions,
): Promise<CallToolResult> {
  const { ProtocolError, SdkError, SdkErrorCode } = sdk;
  return direct.request("tools/call", { name, arguments: args }, options).then(
    (result) => {
      const flaw = findFlaw(result);
      if (flaw !== undefined) throw new SdkError(SdkErrorCode.InvalidResult, `Invalid result for tools/call: ${flaw}`);
      return toCallResult(result);
    },
    (failure: DirectFailure) => {
      switch (failure.kind) {
        case "answered":
          throw ProtocolError.fromError(failure.code, failure.message, failure.data);
        case "timeout":
          throw new SdkError(SdkErrorCode.RequestTimeout, "Request timed out");
        case "aborted":
          throw options.signal.reason;
        case "closed":
          throw new SdkError(SdkErrorCode.ConnectionClosed, "Connection closed");
        case "unsent":
          throw failure.cause;
      }
    },
  );
}

function createTransport(endpoint: Endpoint, options: ConnectionOptions): Transport {
  const { sdk, maxMessageBytes, authorization } = options;
  switch (endpoint.transport) {
    case "stdio":
      return new StdioTransport({ ...endpoint, ...options });
    case "ws":
      return new WebSocketTransport({ ...endpoint, maxMessageBytes });
    default: {
      const shared = {
        requestInit: { headers: endpoint.headers },
        fetch: coalesceRefreshes(limitBodies(maxMessageBytes)),
        ...(authorization === undefined ? {} : { authProvider: authorization }),
      };
      return endpoint.transport === "sse"
        ? new sdk.SSEClientTransport(endpoint.url, shared)
        : new sdk.StreamableHTTPClientTransport(endpoint.url, shared);
    }
  }
}

function toCapabilities({ permissions }: ServerConfig): ClientCapabilities {
  return {
    ...(permissions.sampling ? { sampling: { tools: {} } } : {}),
    ...(permissions.elicitation ? { elicitation: { form: { applyDefaults: true }, url: {} } } : {}),
    ...(permissions.roots ? { roots: {} } : {}),
  };
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
