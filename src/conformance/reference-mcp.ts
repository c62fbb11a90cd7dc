// How a host is asked to bridge the reference MCP server. It must let agents register this very command.
import { fileURLToPath } from "node:url";

export const referenceMcpCommand: readonly [string, string] = [
  process.execPath,
  fileURLToPath(new URL("./reference-mcp-server.mjs", import.meta.url)),
];
