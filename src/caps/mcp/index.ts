// The public subpath `a2e/mcp`: the bridge to MCP servers, and the table by which agents use it and answer it.
export type { McpOptions } from "./options.ts";
export { mcpPlugin } from "./plugin.ts";
export { mcp, type ServerInfo } from "./protocol.ts";
