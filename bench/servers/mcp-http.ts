// Streamable HTTP with sessions, as the examples of the MCP SDK do it: express, and a server and a transport per session.
import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import express from "express";
import { type FeedCommand, feed } from "./feed.ts";
import { createMcpEcho } from "./mcp-echo.ts";

interface McpSession {
  readonly server: McpServer;
  readonly transport: StreamableHTTPServerTransport;
}

const sessions = new Map<string, McpSession>();

async function openSession(): Promise<StreamableHTTPServerTransport> {
  const server = createMcpEcho();
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, { server, transport }),
  });
  // The SDK's own types disagree under exactOptionalPropertyTypes.
  await server.connect(transport as Transport);
  return transport;
}

const app = express();
app.use(express.json());
app.all("/mcp", async (request, response) => {
  const id = request.headers["mcp-session-id"];
  const transport = typeof id === "string" ? sessions.get(id)?.transport : await openSession();
  if (transport === undefined) response.status(404).end();
  else await transport.handleRequest(request, response, request.body);
});

const listener = app.listen(0, "127.0.0.1", () => process.send?.({ port: (listener.address() as AddressInfo).port }));

process.on("message", async (command: FeedCommand) => {
  const servers = [...sessions.values()].map(({ server }) => server.server);
  await feed(command, async (data) => {
    await Promise.all(
      servers.map((server) =>
        server.notification({ method: "notifications/message", params: { level: "info", data } }),
      ),
    );
  });
  process.send?.({ sent: servers.length * command.pushes });
});
process.on("disconnect", () => process.exit());
