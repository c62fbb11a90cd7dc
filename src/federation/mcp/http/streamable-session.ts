// Streamable HTTP with sessions: the revisions 2025-03-26 to 2025-11-25.
import { SUPPORTED_PROTOCOL_VERSIONS, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { AgentSetting } from "../agent.ts";
import { createConnection } from "../connection.ts";
import { cancelledBy } from "../messages.ts";
import { createEventStore } from "./event-store.ts";
import { createEnding, type HttpSession } from "./http-session.ts";
import { agentOf, keyOfCaller, type McpCaller } from "./mcp-caller.ts";
import { createNodeHandler } from "./node-handler.ts";

interface StreamableOptions {
  id: string;
  caller: McpCaller;
  agentId: string | undefined;
  clientName: string;
}

/** Rejects with an A2EError if the host accepts no more sessions. */
export async function openStreamableSession(setting: AgentSetting, options: StreamableOptions): Promise<HttpSession> {
  const { id, caller, agentId, clientName } = options;
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => id,
    eventStore: createEventStore(),
    retryInterval: reconnectAfterMs,
  });
  const connection = createConnection(setting, {
    era: "legacy",
    ...agentOf(caller),
    agentId,
    onClosed: () => setImmediate(() => void ending.close()),
  });
  const { server } = connection;
  const ending = createEnding(
    (drainMs) => connection.close(drainMs),
    () => server.close(),
  );
  await connection.open(clientName);
  await server.connect(transport);
  server.onclose = () => void ending.close();
  endCancelledCalls(transport);
  const serve = createNodeHandler((request, given) => {
    agreeOnRevision(request.headers, server.getNegotiatedProtocolVersion());
    return transport.handleRequest(request, given);
  }, setting.host.limits.maxOutboundBytes);
  const useToken = async (token: string) => (await connection.open(clientName)).useToken(token);
  return { callerKey: keyOfCaller(caller), useToken, handle: serve, ...ending };
}

/** Sent to clients as the delay before they reconnect a stream. */
const reconnectAfterMs = 1_000;

/** The negotiated revision applies, also if the client omits the header or names another supported revision. */
function agreeOnRevision(headers: Headers, revision: string | undefined): void {
  const named = headers.get(revisionHeader);
  const isKnown = named === null || SUPPORTED_PROTOCOL_VERSIONS.includes(named);
  if (revision !== undefined && isKnown) headers.set(revisionHeader, revision);
}

const revisionHeader = "mcp-protocol-version";

/**
 * The SDK does not answer a call that its client cancelled, and keeps the stream of the call open. Ending the stream is
 * not enough: clients reconnect to streams that ended without an answer. So an answer is sent, which clients ignore by
 * the specification.
 */
function endCancelledCalls(transport: WebStandardStreamableHTTPServerTransport): void {
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    onmessage?.(message, extra);
    const id = cancelledBy(message);
    // If the call has ended already, there is no stream to end.
    if (id !== undefined) transport.send({ jsonrpc: "2.0", id, error: cancelled }).catch(() => {});
  };
}

/** The code of the language server protocol for a cancelled request; MCP has none. */
const cancelled = { code: -32_800, message: "cancelled by the client" };
