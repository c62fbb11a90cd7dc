// The same tool as a user of the MCP SDK writes it.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

export function createMcpEcho(): McpServer {
  const server = new McpServer({ name: "echo", version: "1.0.0" }, { capabilities: { logging: {} } });
  server.registerTool(
    "echo",
    { description: "Returns its text.", inputSchema: { text: z.string() } },
    async ({ text }) => ({
      content: [{ type: "text", text }],
    }),
  );
  return server;
}
