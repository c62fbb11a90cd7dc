// The public subpath `a2e/mcp`: the bridge to MCP servers, and the table by which agents use it and answer it.
export type { McpOptions } from "../caps/mcp/options.ts";
export { mcpPlugin } from "../caps/mcp/plugin.ts";
export { mcp, type ServerInfo } from "../caps/mcp/protocol.ts";
