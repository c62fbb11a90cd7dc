// Adapts Node's requests and responses to handlers of the web standard. The SDK's own adapter notices that a reader has
// disconnected only when it sends the next message, and buffers without a limit for a slow reader.
import type { IncomingMessage, ServerResponse } from "node:http";

export type NodeHandler = (request: IncomingMessage, response: ServerResponse, body: unknown) => Promise<void>;

type WebHandler = (request: Request, given: { parsedBody?: unknown }) => Promise<Response>;

/** Disconnects a reader that is more than `maxWaitingBytes` behind. Rejects if the handler rejects. */
export function createNodeHandler(handle: WebHandler, maxWaitingBytes: number): NodeHandler {
  return async (request, response, body) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    if (response.destroyed) gone.abort();
    const answer = await handle(toWebRequest(request, gone.signal), body === undefined ? {} : { parsedBody: body });
    if (!response.destroyed) {
      answer.headers.forEach((value, name) => void response.setHeader(name, value));
      response.writeHead(answer.status);
      // The client of a stream learns at once that it is open, before the first event.
      response.flushHeaders();
    }
    try {
      if (answer.body !== null) await copyBody(answer.body, response, maxWaitingBytes);
    } finally {
      response.end();
    }
  };
}

/** Without the body, which handlers get parsed. */
export function toWebRequest({ method = "GET", headers, url = "/" }: IncomingMessage, signal?: AbortSignal): Request {
  const given = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    [value ?? []].flat().map((one) => [name, one]),
  );
  return new Request(new URL(url, "http://localhost"), { method, headers: given, ...(signal && { signal }) });
}

async function copyBody(body: ReadableStream<Uint8Array>, response: ServerResponse, maxWaitingBytes: number) {
  const reader = body.getReader();
  const leave = () => void reader.cancel().catch(() => {});
  response.once("close", leave);
  if (response.destroyed) leave();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    // Checked before the write: a single message may exceed the limit.
    if (response.writableLength > maxWaitingBytes) response.destroy();
    if (!response.destroyed) response.write(value);
  }
  response.off("close", leave);
}
