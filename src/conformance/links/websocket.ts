// A session over a WebSocket. The host names the session in its first frame.
import { WebSocket } from "ws";
import { toSubprotocols } from "../../framing/websocket.ts";
import type { Link, LinkEvents, OpenLink } from "../link.ts";

export interface WebSocketLinkOptions {
  readonly sessionId?: string;
  /** The last line that has arrived already. */
  readonly from?: number;
}

export interface WebSocketLink extends Link {
  writeBinary(bytes: Uint8Array): void;
}

export function createWebSocketLinks(url: string, deadlineMs: number): OpenLink {
  return (events, sessionId) => openWebSocket(url, deadlineMs, events, sessionId === undefined ? {} : { sessionId });
}

export function openWebSocket(
  url: string,
  deadlineMs: number,
  events: LinkEvents,
  options: WebSocketLinkOptions = {},
): Promise<WebSocketLink> {
  const address = `${url.replace(/^http/, "ws").replace(/\/+$/, "")}/ws${options.from === undefined ? "" : `?from=${options.from}`}`;
  const socket = new WebSocket(address, toSubprotocols({ sessionId: options.sessionId }), {
    perMessageDeflate: false,
    handshakeTimeout: deadlineMs,
    maxPayload: 64 * 1024 * 1024,
  });
  let sessionId = options.sessionId;
  let isClosed = false;
  const link: WebSocketLink = {
    get sessionId() {
      return sessionId;
    },
    write: (text) => socket.send(text),
    writeBinary: (bytes) => socket.send(bytes, { binary: true }),
    async close() {
      isClosed = true;
      if (socket.readyState === WebSocket.CLOSED) return;
      await new Promise<void>((resolve) => {
        const force = setTimeout(() => socket.terminate(), 1_000);
        socket.once("close", () => {
          clearTimeout(force);
          resolve();
        });
        socket.close(1000);
      });
    },
  };
  return new Promise((resolve, reject) => {
    socket.on("error", reject);
    socket.on("close", (code) => {
      reject(new Error(`the host closed the WebSocket with ${code}`));
      if (!isClosed) events.ended(`the host closed the WebSocket with ${code}`);
      isClosed = true;
    });
    socket.on("open", () => resolve(link));
    socket.on("message", (data: Buffer) => {
      for (const line of data.toString("utf8").split("\n")) {
        if (line === "") continue;
        sessionId ??= sessionIdOf(line);
        events.line(line);
      }
    });
  });
}

function sessionIdOf(line: string): string | undefined {
  try {
    const message = JSON.parse(line) as { type?: unknown; session_id?: unknown };
    return message.type === "session/resumed" && typeof message.session_id === "string"
      ? message.session_id
      : undefined;
  } catch {
    return undefined;
  }
}
