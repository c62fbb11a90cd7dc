// `a2e mcp`: one client over stdin and stdout, in whichever revision it opens with.
import type { Readable, Writable } from "node:stream";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { A2EHost } from "../../host/host.ts";
import { createAgentSetting } from "./agent.ts";
import { type Connection, createConnection } from "./connection.ts";
import { createStdioTransport } from "./stdio-transport.ts";

interface McpStdioOptions {
  input: Readable;
  output: Writable;
  version: string;
  /** What the client would have to know, were it not the one who started the host. */
  token: string;
  /** The agent that the client acts as; after its own name where left out. */
  agentId?: string | undefined;
}

export interface McpStdio {
  /** Resolves when the client has gone, or this was closed, and all that was said has left. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

export function serveMcpOverStdio(host: A2EHost, options: McpStdioOptions): McpStdio {
  const { input, output, version, token, agentId } = options;
  const setting = createAgentSetting(host, version);
  const connections = new Set<Connection>();
  const { promise: ended, resolve: end } = withResolvers();
  const handle = serveStdio(
    ({ era }) => {
      // A client that tries the new revision first and falls back to an old one gets two instances, one after the other.
      const connection = createConnection(setting, { era, token, agentId });
      connections.add(connection);
      return connection.server;
    },
    {
      transport: createStdioTransport({ input, output, limits: host.limits, onEnded: end }),
      onerror: (error) => host.log.info("a message of the MCP client was refused", { error: error.message }),
    },
  );
  return {
    ended,
    async close() {
      await handle.close();
      await Promise.all([...connections].map((connection) => connection.close()));
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
