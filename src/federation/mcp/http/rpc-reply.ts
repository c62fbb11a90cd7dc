// Rejections of the door in the form that MCP clients read.
import type { ServerResponse } from "node:http";

/** JSON-RPC leaves codes from -32000 down to the server. */
const refused = -32_000;

export function replyRpcError(response: ServerResponse, status: number, message: string, code = refused): void {
  if (response.headersSent || response.destroyed) return;
  const retry = status === 503 || status === 429 ? { "retry-after": "1" } : {};
  response.writeHead(status, { "content-type": "application/json", ...retry });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null }));
}

/** A 404 tells clients to initialize again. */
export function replyUnknownSession(response: ServerResponse): void {
  replyRpcError(response, 404, "unknown session: it has ended; initialize again");
}
