// Requests of Node for handlers of the web's kind, and their answers back. The SDK has an adapter too, which notices that
// a reader has left only with the next message for it, and keeps for a slow one whatever there is.
import type { IncomingMessage, ServerResponse } from "node:http";

export type NodeHandler = (request: IncomingMessage, response: ServerResponse, body: unknown) => Promise<void>;

type WebHandler = (request: Request, given: { parsedBody?: unknown }) => Promise<Response>;

/** A reader that is further behind than `maxWaitingBytes` is cut off. Rejects with what the handler rejects with. */
export function createNodeHandler(handle: WebHandler, maxWaitingBytes: number): NodeHandler {
  return async (request, response, body) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    if (response.destroyed) gone.abort();
    const answer = await handle(toWebRequest(request, gone.signal), body === undefined ? {} : { parsedBody: body });
    if (!response.destroyed) {
      answer.headers.forEach((value, name) => void response.setHeader(name, value));
      response.writeHead(answer.status);
      // The client of a stream learns at once that it is open, not when it first carries something.
      response.flushHeaders();
    }
    try {
      if (answer.body !== null) await copyBody(answer.body, response, maxWaitingBytes);
    } finally {
      response.end();
    }
  };
}

/** Without the body: whoever handles the request is given it parsed. */
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
    // Asked before the write and not after it: one message may be as large as it is.
    if (response.writableLength > maxWaitingBytes) response.destroy();
    if (!response.destroyed) response.write(value);
  }
  response.off("close", leave);
}
