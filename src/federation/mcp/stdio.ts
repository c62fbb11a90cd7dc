// `a2e mcp`: one client over stdin and stdout, in the revision of its first request.
import type { Readable, Writable } from "node:stream";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { A2EHost } from "../../host/host.ts";
import { createAgentSetting } from "./agent.ts";
import { type Connection, type ConnectionOptions, createConnection } from "./connection.ts";
import { createListeningTransport } from "./listening-transport.ts";
import { clientNameOf, isStateless, type ListenRequest } from "./messages.ts";
import { explained } from "./rpc-errors.ts";
import { createStdioTransport } from "./stdio-transport.ts";

interface McpStdioOptions {
  input: Readable;
  output: Writable;
  version: string;
  /** The token of the host; the client needs none, because it started the host. */
  token: string;
  /** The agent that the client acts as; by default named after the client. */
  agentId?: string | undefined;
}

type Era = ConnectionOptions["era"];

export interface McpStdio {
  /** Resolves when the client has left or this was closed, and all output has been flushed. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

export function serveMcpOverStdio(host: A2EHost, options: McpStdioOptions): McpStdio {
  const { input, output, version, token, agentId } = options;
  const setting = createAgentSetting(host, version);
  // A client that tries the new revision first and falls back to an old one has a connection of each, in sequence.
  const connections = new Map<Era, Connection>();
  const connectionOf = (era: Era) => {
    const connection = connections.get(era) ?? createConnection(setting, { era, token, agentId });
    connections.set(era, connection);
    return connection;
  };
  const beginListening = async (request: ListenRequest) => {
    // In other revisions the SDK answers that the method does not exist.
    if (connections.has("legacy") || !isStateless(request)) return undefined;
    return explained(host.log, async () => {
      const { watches } = await connectionOf("modern").open(clientNameOf(request));
      return watches.begin(request);
    });
  };
  const { promise: ended, resolve: end } = withResolvers();
  const lines = createStdioTransport({ input, output, limits: host.limits, onEnded: end });
  const handle = serveStdio(({ era }) => connectionOf(era).server, {
    transport: createListeningTransport(lines, beginListening),
    onerror: (error) => host.log.info("a message of the MCP client was rejected", { error: error.message }),
  });
  return {
    ended,
    async close() {
      await handle.close();
      await Promise.all([...connections.values()].map((connection) => connection.close()));
    },
  };
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
