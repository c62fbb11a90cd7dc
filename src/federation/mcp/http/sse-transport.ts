// The stream of a client of 2024-11-05: one for everything that the server says. This revision has no way to send again
// what a reader missed.
import type { ServerResponse } from "node:http";
import type { Transport } from "@modelcontextprotocol/server";

/** A reader that is further behind than `maxWaitingBytes` is cut off. */
export function createSseTransport(response: ServerResponse, endpoint: string, maxWaitingBytes: number): Transport {
  let isClosed = false;
  // A response that was ended may have to wait for its reader; to write to it then is an error that nobody catches.
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
      // Asked before the write and not after it: one message may be as large as it is.
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
