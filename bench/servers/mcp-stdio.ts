import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { createMcpEcho } from "./mcp-echo.ts";

await createMcpEcho().connect(new StdioServerTransport());
