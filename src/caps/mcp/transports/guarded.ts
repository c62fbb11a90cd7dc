// Stands between a transport and the SDK: counts notifications of a server and drops those beyond the limit.
import type { JSONRPCMessage, MessageExtraInfo, Transport, TransportSendOptions } from "@modelcontextprotocol/client";
import { mcpLimits } from "../limits.ts";
import { DirectRequests } from "./direct-requests.ts";
import { withTaskHandle } from "./task-handle.ts";

export class GuardedTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;
  readonly #inner: Transport;
  readonly #now: () => number;
  readonly #onDropped: () => void;
  /** Requests that bypass the SDK. */
  readonly direct: DirectRequests;
  #second = 0;
  #inSecond = 0;
  /** Messages that wait until the SDK has handled progress. */
  #held: { message: JSONRPCMessage; extra: MessageExtraInfo | undefined }[] = [];
  #isHolding = false;
  /** Number of notifications that were dropped because they came too fast. */
  dropped = 0;

  constructor(inner: Transport, now: () => number, onDropped: () => void = () => {}) {
    this.#inner = inner;
    this.#now = now;
    this.#onDropped = onDropped;
    this.direct = new DirectRequests((message) => inner.send(message));
    inner.onclose = () => {
      this.direct.close();
      this.onclose?.();
    };
    inner.onerror = (error) => this.onerror?.(error);
    inner.onmessage = (message, extra) => {
      if (isNotification(message) && !this.#hasRoom()) return;
      if (!this.direct.take(message)) this.#deliver(withTaskHandle(message), extra);
    };
    // The SDK recognises a pipe by these two properties.
    if ("stderr" in inner && "pid" in inner) Object.assign(this, { stderr: inner.stderr, pid: null });
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  get hasPerRequestStream(): boolean {
    return this.#inner.hasPerRequestStream ?? false;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    return this.#inner.send(message, options);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /**
   * The SDK handles notifications later than answers, and discards progress once its request is answered. So an answer
   * right behind progress is delivered in the next turn of the event loop.
   */
  #deliver(message: JSONRPCMessage, extra: MessageExtraInfo | undefined): void {
    const isProgress = "method" in message && message.method === "notifications/progress";
    if (this.#held.length > 0 || (this.#isHolding && !isProgress)) return void this.#held.push({ message, extra });
    this.onmessage?.(message, extra);
    if (!isProgress || this.#isHolding) return;
    this.#isHolding = true;
    setImmediate(() => {
      this.#isHolding = false;
      for (const held of this.#held.splice(0)) this.#deliver(held.message, held.extra);
    });
  }

  #hasRoom(): boolean {
    const second = Math.floor(this.#now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#inSecond = 0;
    }
    this.#inSecond += 1;
    if (this.#inSecond <= mcpLimits.maxNotificationsPerSecond) return true;
    this.dropped += 1;
    // Once per second is enough to resynchronise after losses.
    if (this.#inSecond === mcpLimits.maxNotificationsPerSecond + 1) this.#onDropped();
    return false;
  }
}

function isNotification(message: JSONRPCMessage): boolean {
  return "method" in message && !("id" in message);
}
