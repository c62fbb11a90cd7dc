// The WebSocket of Node, where Node has none of its own or a slower one.
import type { Transport } from "../protocol/transport.ts";
import { createWebSocketTransport, type WebSocketLike, type WebSocketTransportOptions } from "./websocket.ts";

/** The WebSocket transport as it should be used in Node. */
export function createNodeWebSocketTransport(options: WebSocketTransportOptions): Transport {
  return createWebSocketTransport({ connect: connectWithWs, ...options });
}

async function connectWithWs(url: string, protocols: string[]): Promise<WebSocketLike> {
  const { WebSocket } = await import("ws");
  // Small JSON lines on a fast link: compressing them costs more than sending them.
  const socket = new WebSocket(url, protocols, { perMessageDeflate: false });
  return socket as unknown as WebSocketLike;
}
