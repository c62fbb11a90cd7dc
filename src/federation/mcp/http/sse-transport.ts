// The stream of a client of 2024-11-05, for all messages of the server. This revision cannot replay messages that a
// reader missed.
import type { ServerResponse } from "node:http";
import type { Transport } from "@modelcontextprotocol/server";

/** Disconnects a reader that is more than `maxWaitingBytes` behind. */
export function createSseTransport(response: ServerResponse, endpoint: string, maxWaitingBytes: number): Transport {
  let isClosed = false;
  // A response that was ended may still be flushing; writing to it then would be an uncaught error.
  const write = (text: string) => {
    if (!isClosed && !response.destroyed) response.write(text);
  };
  const keepAlive = setInterval(() => write(": keep-alive\n\n"), keepAliveMs).unref();
  const closed = () => {
    if (isClosed) return;
    isClosed = true;
    clearInterval(keepAlive);
    transport.onclose?.();
  };
  const transport: Transport = {
    async start() {
      response.once("close", closed);
      response.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store, no-transform",
        "x-accel-buffering": "no",
      });
      write(`event: endpoint\ndata: ${endpoint}\n\n`);
    },
    async send(message) {
      // Checked before the write: a single message may exceed the limit.
      if (response.writableLength > maxWaitingBytes) response.destroy();
      write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
    },
    async close() {
      response.end();
      closed();
    },
  };
  return transport;
}

const keepAliveMs = 15_000;
