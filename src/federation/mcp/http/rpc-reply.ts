// Refusals of the door in the form that MCP clients read.
import type { ServerResponse } from "node:http";

/** Codes from -32000 down are the server's own. */
const refused = -32_000;

export function replyRpcError(response: ServerResponse, status: number, message: string, code = refused): void {
  if (response.headersSent || response.destroyed) return;
  const retry = status === 503 ? { "retry-after": "1" } : {};
  response.writeHead(status, { "content-type": "application/json", ...retry });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null }));
}

/** The status by which clients know that they must begin anew. */
export function replyUnknownSession(response: ServerResponse): void {
  replyRpcError(response, 404, "unknown session: it has ended; initialize again");
}
