// The WebSocket for Node, which has none of its own or a slower one.
import type { ClientOptions } from "ws";
import type { Transport } from "../../protocol/transport.ts";
import type { ClientTls } from "../client-tls.ts";
import { createWebSocketTransport, type WebSocketTransportOptions } from "./websocket.ts";
import type { WebSocketLike } from "./websocket-link.ts";

/** The WebSocket transport as it should be used in Node. */
export function createNodeWebSocketTransport({
  tls,
  ...options
}: WebSocketTransportOptions & { tls?: ClientTls }): Transport {
  return createWebSocketTransport({ connect: (url, protocols) => connectWithWs(url, protocols, tls), ...options });
}

/** A link on which a host has missed three of its pings is dead; how often it pings is seen from the first two. */
const missedPings = 3;
const minSilenceMs = 45_000;

async function connectWithWs(url: string, protocols: string[], tls: ClientTls = {}): Promise<WebSocketLike> {
  const { WebSocket } = await import("ws");
  // Small JSON lines on a fast link: compressing them costs more than sending them.
  const options = { ...tls, perMessageDeflate: false } as unknown as ClientOptions;
  const socket = new WebSocket(url, protocols, options);
  cutWhenSilent(socket);
  return socket as unknown as WebSocketLike;
}

interface PingedSocket {
  on(event: "ping" | "close", listener: () => void): unknown;
  terminate(): void;
}

/** A vanished peer is detected by its missing pings. Browsers do not expose pings, so this works in Node only. */
export function cutWhenSilent(socket: PingedSocket): void {
  let timer: NodeJS.Timeout | undefined;
  let pingedAt: number | undefined;
  // The longest of all: pings that were held up somewhere come close together.
  let betweenPingsMs = 0;
  socket.on("ping", () => {
    const now = performance.now();
    betweenPingsMs = Math.max(betweenPingsMs, now - (pingedAt ?? now));
    clearTimeout(timer);
    const silenceMs = Math.max(missedPings * betweenPingsMs, minSilenceMs);
    if (pingedAt !== undefined) timer = setTimeout(() => socket.terminate(), silenceMs).unref();
    pingedAt = now;
  });
  socket.on("close", () => clearTimeout(timer));
}
