// Answers of the HTTP server, all of them JSON. An error names the problem and the remedy, never the internals of the
// host.
import type { IncomingMessage, ServerResponse } from "node:http";

export function replyJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    ...headers,
  });
  response.end(text);
}

export function replyError(
  response: ServerResponse,
  status: number,
  error: string,
  hint = "",
  headers: Record<string, string> = {},
): void {
  replyJson(response, status, hint === "" ? { error } : { error, hint }, headers);
}

export function replyUnauthorized(response: ServerResponse, challenge = "Bearer"): void {
  replyError(response, 401, "a token is needed", "send the header Authorization: Bearer <token>", {
    "www-authenticate": challenge,
  });
}

/**
 * Collects the body and passes it on as a whole; undefined if it is larger than `maxBytes`. Not called if the peer
 * disconnects.
 */
export function readBody(request: IncomingMessage, maxBytes: number, done: (body: Buffer | undefined) => void): void {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return done(undefined);
  let first: Buffer | undefined;
  let more: Buffer[] | undefined;
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    const wasWithin = bytes <= maxBytes;
    bytes += chunk.length;
    if (bytes > maxBytes) {
      if (wasWithin) done(undefined);
      more = undefined;
    } else if (first === undefined) first = chunk;
    else if (more === undefined) more = [first, chunk];
    else more.push(chunk);
  });
  request.on("end", () => {
    if (bytes <= maxBytes) done(more === undefined ? (first ?? nothing) : Buffer.concat(more, bytes));
  });
}

const nothing = Buffer.alloc(0);
