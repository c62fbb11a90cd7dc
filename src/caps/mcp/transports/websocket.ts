// MCP over a WebSocket: one message per frame, subprotocol "mcp". The SDK has no such transport any more.
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { WebSocket } from "ws";

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
      const message = parse(String(data));
      if (message === undefined) this.onerror?.(new Error("a frame is no JSON object"));
      else this.onmessage?.(message);
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
      if (this.#socket?.readyState !== WebSocket.OPEN) return reject(new Error("the connection is closed"));
      this.#socket.send(JSON.stringify(message), (error) => (error == null ? resolve() : reject(error)));
    });
  }

  async close(): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined || socket.readyState === WebSocket.CLOSED) return;
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    // A peer that does not answer the goodbye is not waited for.
    const timer = setTimeout(() => socket.terminate(), goodbyeMs);
    socket.close();
    await closed;
    clearTimeout(timer);
  }
}

const goodbyeMs = 500;

function parse(text: string): JSONRPCMessage | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JSONRPCMessage) : undefined;
  } catch {
    return undefined;
  }
}
