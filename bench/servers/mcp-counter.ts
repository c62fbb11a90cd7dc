// The counter of `counter_env` as a user of the MCP SDK writes it: a tool that steps it and returns what it sees.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const target = 10;

export function createMcpCounter(): McpServer {
  let count = 0;
  let step_num = 0;
  const server = new McpServer({ name: "counter", version: "1.0.0" });
  server.registerTool(
    "step",
    {
      description: `Count to ${target}.`,
      inputSchema: { type: z.enum(["inc", "dec"]), amount: z.number().int().min(0).max(1000).default(1) },
    },
    async ({ type, amount }) => {
      count += type === "inc" ? amount : -amount;
      step_num += 1;
      const observation = { step_num, state: { count }, reward: count > 0 ? 1 : -1, done: count >= target };
      return { content: [{ type: "text", text: JSON.stringify(observation) }] };
    },
  );
  return server;
}
