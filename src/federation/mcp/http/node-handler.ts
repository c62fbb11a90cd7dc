import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type FetchLikeMcpHandler,
  type NodeIncomingMessageLike,
  type NodeServerResponseLike,
  toNodeHandler,
} from "@modelcontextprotocol/node";

export type NodeHandler = (request: IncomingMessage, response: ServerResponse, body: unknown) => Promise<void>;

/** The SDK's adapter; its type of a request is written without `exactOptionalPropertyTypes` in mind. */
export function createNodeHandler(handler: FetchLikeMcpHandler): NodeHandler {
  const handle = toNodeHandler(handler);
  return (request, response, body) => handle(request as NodeIncomingMessageLike, withPromptHeaders(response), body);
}

/** The client of a stream learns at once that it is open, not when it first carries something. */
function withPromptHeaders(response: ServerResponse): NodeServerResponseLike {
  return {
    writeHead(status, headers) {
      response.writeHead(status, headers);
      response.flushHeaders();
    },
    write: (chunk) => response.write(chunk),
    end: (chunk) => response.end(chunk),
    on: (event, listener) => response.on(event, listener),
    get destroyed() {
      return response.destroyed;
    },
  };
}
