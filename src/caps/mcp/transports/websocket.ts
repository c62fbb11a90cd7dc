// MCP over a WebSocket: one message per frame, subprotocol "mcp". The SDK no longer has such a transport.
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { WebSocket } from "ws";
import { mcpLimits } from "../limits.ts";
import { parseMessages } from "./line-reader.ts";
import { maxUnsentBytes, ServerDoesNotRead } from "./unsent.ts";

export interface WebSocketOptions {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly maxMessageBytes: number;
}

export class WebSocketTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #options: WebSocketOptions;
  #socket: WebSocket | undefined;

  constructor(options: WebSocketOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    const { url, headers, maxMessageBytes } = this.#options;
    const socket = new WebSocket(url, "mcp", { headers, maxPayload: maxMessageBytes, followRedirects: false });
    this.#socket = socket;
    socket.on("message", (data) => {
      const messages = parseMessages(String(data));
      if (messages === undefined) this.onerror?.(new Error("received an invalid message"));
      else for (const message of messages) this.onmessage?.(message as JSONRPCMessage);
    });
    socket.on("close", () => this.onclose?.());
    return new Promise((resolve, reject) => {
      socket.on("open", resolve);
      socket.on("error", (error) => {
        reject(error);
        this.onerror?.(error);
      });
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = this.#socket;
      if (socket?.readyState !== WebSocket.OPEN) return reject(new Error("the connection is closed"));
      if (socket.bufferedAmount > maxUnsentBytes(this.#options)) return reject(new ServerDoesNotRead());
      socket.send(JSON.stringify(message), (error) => (error == null ? resolve() : reject(error)));
    });
  }

  async close(): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined || socket.readyState === WebSocket.CLOSED) return;
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    // A peer that does not answer the close frame is disconnected after `goodbyeMs`.
    const timer = setTimeout(() => socket.terminate(), mcpLimits.goodbyeMs);
    socket.close();
    await closed;
    clearTimeout(timer);
  }
}
