// Streamable HTTP with sessions: the revisions 2025-03-26 to 2025-11-25.
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { AgentSetting } from "../agent.ts";
import { createConnection } from "../connection.ts";
import { createEventStore } from "./event-store.ts";
import type { HttpSession } from "./http-session.ts";
import { createNodeHandler } from "./node-handler.ts";

interface StreamableOptions {
  id: string;
  token: string;
  agentId: string | undefined;
  clientName: string;
  /** The client has deleted it, or the host has ended it. */
  onClosed(): void;
}

/** Rejects with an A2EError where the host takes no more sessions. */
export async function openStreamableSession(setting: AgentSetting, options: StreamableOptions): Promise<HttpSession> {
  const { id, token, agentId, onClosed } = options;
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => id,
    eventStore: createEventStore(),
    retryInterval: reconnectAfterMs,
  });
  const connection = createConnection(setting, {
    era: "legacy",
    token,
    agentId,
    // Answers that are already made still find their way out.
    onClosed: () => setImmediate(() => void close()),
  });
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= (async () => {
      onClosed();
      await connection.server.close();
      await connection.close();
    })();
    return closing;
  };
  await connection.open(options.clientName);
  await connection.server.connect(transport);
  connection.server.onclose = () => void close();
  const serve = createNodeHandler({ fetch: (request, given) => transport.handleRequest(request, given) });
  return { token, handle: serve, close };
}

/** Told to clients whose stream ends. */
const reconnectAfterMs = 1_000;
