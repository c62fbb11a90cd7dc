// An agent's end of a WebSocket. It counts the lines that arrive; after a cut it names the last one, and the host goes on
// from there. What it sent into the cut it cannot know: `restored` has it sent again. Runs in browsers.

import { encodeMessage } from "../protocol/codec.ts";
import { gap, resumed } from "../protocol/core.ts";
import type { Message } from "../protocol/envelope.ts";
import { parseJson } from "../protocol/json.ts";
import type { Transport, TransportEvents } from "../protocol/transport.ts";
import { formatAcknowledgement, toSubprotocols, webSocketCloseCodes } from "../protocol/websocket.ts";
import { createBackoff, type ReconnectOptions } from "./backoff.ts";
import { oncePerTurn } from "./turn.ts";

/** What the transport needs of a WebSocket; that of browsers and that of `ws` both have it. */
export interface WebSocketLike {
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  onerror: ((event: never) => void) | null;
  send(text: string): void;
  close(code?: number): void;
}

export type ConnectWebSocket = (url: string, protocols: string[]) => WebSocketLike | Promise<WebSocketLike>;

export interface WebSocketTransportOptions {
  /** Where the host is: `ws://127.0.0.1:8765`, or its http address. */
  url: string;
  /** Joins a session that is there already, instead of creating one. */
  sessionId?: string;
  token?: string;
  reconnect?: ReconnectOptions;
  connect?: ConnectWebSocket;
}

/** Acknowledging lets the host forget what has arrived; there is no hurry. */
const acknowledgeEvery = 256;
const acknowledgeAfterMs = 1_000;
/** Closing waits this long for the peer's part of it. */
const closeTimeoutMs = 1_000;

export function createWebSocketTransport(options: WebSocketTransportOptions): Transport {
  const { token, connect = connectInBrowser } = options;
  const url = `${options.url.replace(/^http/, "ws").replace(/\/+$/, "")}/ws`;
  const backoff = createBackoff(options.reconnect);
  let state: "new" | "opening" | "open" | "closed" = "new";
  let events: TransportEvents;
  let sessionId = options.sessionId;
  let socket: WebSocketLike | undefined;
  let closing: Promise<void> | undefined;
  /** True from the first frame on: before it the host's place in the log is unknown. */
  let isLinked = false;
  let wasLinked = false;
  /** After a cut: once this line is here, whatever has no answer was lost on its way to the host. */
  let restoredAtSeq: number | undefined;
  let lastSeq = 0;
  let acknowledgedSeq = 0;
  let acknowledgeTimer: ReturnType<typeof setTimeout> | undefined;
  let reconnectTimer: ReturnType<typeof setTimeout> | undefined;
  /** By id: what waits for a link and is sent again by `restored` goes out once. */
  let outgoing = new Map<string, string>();
  const flushSoon = oncePerTurn(flush);

  return {
    async open(listener) {
      if (state !== "new") throw new Error("transport was opened already");
      state = "opening";
      events = listener;
      try {
        await new Promise<void>((resolve, reject) => void link(resolve, reject));
      } catch (cause) {
        state = "closed";
        throw new Error(`could not reach a host at ${url}: ${(cause as Error).message}`, { cause });
      }
    },
    send(message) {
      if (state !== "open") throw new Error("transport is not open");
      outgoing.set(message.id, encodeMessage(message));
      if (isLinked) flushSoon();
    },
    close() {
      flush();
      acknowledge();
      end();
      closing ??= unlink();
      return closing;
    },
  };

  /** `failed` is given for the first attempt, which is not repeated. */
  async function link(opened?: () => void, failed?: (error: Error) => void): Promise<void> {
    let current: WebSocketLike;
    try {
      current = await connect(lastSeq === 0 ? url : `${url}?from=${lastSeq}`, toSubprotocols({ sessionId, token }));
    } catch (error) {
      return failed === undefined ? relinkLater(error as Error) : failed(error as Error);
    }
    // What went wrong is told by the close that follows.
    current.onerror = () => {};
    if (state === "closed") {
      current.close();
      return failed?.(new Error("closed meanwhile"));
    }
    socket = current;
    current.onmessage = ({ data }) => {
      if (state === "closed" || typeof data !== "string") return;
      if (isLinked) receiveFrame(data);
      else if (startFrom(data)) opened?.();
    };
    current.onclose = ({ code, reason }) => {
      const isFirst = failed !== undefined && !isLinked && !wasLinked;
      isLinked = false;
      const why = closeReason(code, reason);
      if (isFirst) failed(why);
      else if (code === webSocketCloseCodes.unknownSession || code === webSocketCloseCodes.sessionEnded) end(why);
      else relinkLater(why);
    };
  }

  /** The first frame: which session this is, and after which line it goes on. */
  function startFrom(frame: string): boolean {
    const message = parseLine(frame);
    if (message?.type !== resumed.type || typeof message.seq !== "number") {
      socket?.close();
      return false;
    }
    sessionId = String(message.session_id);
    lastSeq = acknowledgedSeq = message.seq;
    isLinked = true;
    state = "open";
    backoff.reset();
    if (wasLinked) restoredAtSeq = Number(message.last ?? 0);
    wasLinked = true;
    restoreIfComplete();
    flush();
    return true;
  }

  /** Only now: most answers that the cut delayed have come by themselves, and need not be asked for twice. */
  function restoreIfComplete(): void {
    if (restoredAtSeq === undefined || lastSeq < restoredAtSeq) return;
    restoredAtSeq = undefined;
    events.restored();
  }

  function receiveFrame(frame: string): void {
    let start = 0;
    while (start < frame.length && state === "open") {
      let end = frame.indexOf("\n", start);
      if (end === -1) end = frame.length;
      receiveLine(start === 0 && end === frame.length ? frame : frame.slice(start, end));
      start = end + 1;
    }
    restoreIfComplete();
    if (lastSeq - acknowledgedSeq >= acknowledgeEvery) acknowledge();
    else acknowledgeTimer ??= setTimeout(acknowledge, acknowledgeAfterMs);
  }

  function receiveLine(line: string): void {
    const message = parseLine(line);
    lastSeq = message?.type === gap.type && typeof message.to === "number" ? message.to : lastSeq + 1;
    if (message !== undefined) events.receive(message);
  }

  function acknowledge(): void {
    clearTimeout(acknowledgeTimer);
    acknowledgeTimer = undefined;
    if (!isLinked || lastSeq === acknowledgedSeq) return;
    acknowledgedSeq = lastSeq;
    socket?.send(formatAcknowledgement(lastSeq));
  }

  function flush(): void {
    if (!isLinked || outgoing.size === 0) return;
    const lines = outgoing;
    outgoing = new Map();
    let text = "";
    for (const line of lines.values()) text += text === "" ? line : `\n${line}`;
    socket?.send(text);
  }

  function relinkLater(reason: Error): void {
    if (state !== "open") return;
    const delayMs = backoff.next();
    if (delayMs === undefined)
      return end(
        new Error(`the host at ${url} could not be reached for too long: ${reason.message}`, { cause: reason }),
      );
    reconnectTimer = setTimeout(() => {
      if (state === "open") void link();
    }, delayMs);
  }

  function end(reason?: Error): void {
    if (state === "closed") return;
    const wasOpen = state === "open";
    state = "closed";
    clearTimeout(acknowledgeTimer);
    clearTimeout(reconnectTimer);
    outgoing.clear();
    if (wasOpen) events.closed(reason);
  }

  function unlink(): Promise<void> {
    const last = socket;
    if (last === undefined || !isLinked) {
      last?.close();
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, closeTimeoutMs);
      last.onclose = () => {
        clearTimeout(timer);
        resolve();
      };
      last.close(1000);
    });
  }
}

function parseLine(line: string): Message | undefined {
  try {
    return parseJson(line) as Message;
  } catch {
    return undefined;
  }
}

function closeReason(code: number, reason: string): Error {
  if (code === webSocketCloseCodes.unknownSession)
    return new Error("the session is gone: the host closed it or no longer knows it");
  if (code === webSocketCloseCodes.sessionEnded) return new Error("the host closed the session");
  return new Error(`the WebSocket was closed with ${code}${reason === "" ? "" : ` ${reason}`}`);
}

function connectInBrowser(url: string, protocols: string[]): WebSocketLike {
  return new WebSocket(url, protocols) as unknown as WebSocketLike;
}
