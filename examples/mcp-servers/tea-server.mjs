// An MCP server as its author writes it, with the SDK of the MCP project. It knows nothing of A2E.
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

const server = new McpServer({ name: "tea", version: "1.0.0" });

server.registerTool(
  "brew",
  { description: "Brews cups of tea, one after another.", inputSchema: z.object({ cups: z.int().min(1).max(5) }) },
  async ({ cups }, { mcpReq }) => {
    for (let cup = 1; cup <= cups; cup++)
      await mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken: mcpReq._meta?.progressToken ?? 0, progress: cup, total: cups },
      });
    return { content: [{ type: "text", text: `${cups} cups are ready` }] };
  },
);

server.registerTool(
  "name_blend",
  { description: "Lets the model of whoever calls find a name for a blend.", inputSchema: z.object({}) },
  async (_args, { mcpReq }) => {
    const { content } = await mcpReq.requestSampling({
      messages: [{ role: "user", content: { type: "text", text: "Name a blend of mint and lemon." } }],
      maxTokens: 20,
    });
    return { content: [content] };
  },
);

server.registerResource("menu", "tea://menu", { mimeType: "text/plain" }, async ({ href }) => ({
  contents: [{ uri: href, text: "assam, darjeeling, mint" }],
}));

await server.connect(new StdioServerTransport());
