// GET /metrics: the metrics of the host for a Prometheus server, which presents the token of the host.
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Door, isOperator, refuseUnauthorized } from "./door.ts";

export async function replyMetrics(
  door: Door,
  request: IncomingMessage,
  response: ServerResponse,
  metrics: () => string,
): Promise<void> {
  if (!(await isOperator(door, request))) return refuseUnauthorized(door, request, response);
  const text = metrics();
  response.writeHead(200, {
    "content-type": "text/plain; version=0.0.4; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
  });
  response.end(text);
}
