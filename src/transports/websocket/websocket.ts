// An agent's end of a WebSocket. It counts the lines that arrive; after a cut it names the last line, and the host
// resumes from there. Lines that were sent during the cut may be lost: `restored` causes them to be sent again. Runs in
// browsers.

import { formatAcknowledgement, toSubprotocols, webSocketCloseCodes } from "../../framing/websocket.ts";
import { createMessage, encodeMessage } from "../../protocol/codec.ts";
import { gap, ping, resumed } from "../../protocol/core.ts";
import type { Message } from "../../protocol/envelope.ts";
import { parseJson } from "../../protocol/json.ts";
import type { Transport, TransportEvents } from "../../protocol/transport.ts";
import { createBackoff, type ReconnectOptions } from "../backoff.ts";
import { toShownUrl } from "../shown-url.ts";
import { oncePerTurn } from "../turn.ts";
import { checkRoom } from "../waiting-lines.ts";
import {
  type ConnectWebSocket,
  connectInBrowser,
  openWebSocket,
  tooLargeCode,
  type WebSocketLink,
} from "./websocket-link.ts";

export interface WebSocketTransportOptions {
  /** The address of the host: `ws://127.0.0.1:8765`, or its http address. */
  url: string;
  /** Joins an existing session instead of creating one. */
  sessionId?: string;
  token?: string;
  reconnect?: ReconnectOptions;
  connect?: ConnectWebSocket;
}

/** An acknowledgement lets the host drop lines that have arrived; it need not be sent at once. */
const acknowledgeEvery = 256;
const acknowledgeAfterMs = 1_000;
/** Lines of a frame, unless a single line is longer: well below the limit of a host for a frame. */
const maxFrameLength = 64 * 1024;

export function createWebSocketTransport(options: WebSocketTransportOptions): Transport {
  const { token, connect = connectInBrowser } = options;
  // Browsers answer pings by themselves without an event; a caller that passes its own `connect` can watch pings.
  const isProbing = options.connect === undefined;
  const url = `${options.url.replace(/^http/, "ws").replace(/\/+$/, "")}/ws`;
  const backoff = createBackoff(options.reconnect);
  let state: "new" | "opening" | "open" | "closed" = "new";
  let events: TransportEvents;
  let sessionId = options.sessionId;
  let link: WebSocketLink | undefined;
  let closing: Promise<void> | undefined;
  /** True from the first frame on: before it the host's place in the log is unknown. */
  let isLinked = false;
  let wasLinked = false;
  /** After a cut: once this line has arrived, every request without an answer was lost on its way to the host. */
  let restoredAtSeq: number | undefined;
  let lastSeq = 0;
  /** The boot id of the host that the last line came from, if it sent one. */
  let boot: string | undefined;
  let acknowledgedSeq = 0;
  let acknowledgeTimer: ReturnType<typeof setTimeout> | undefined;
  let reconnectTimer: ReturnType<typeof setTimeout> | undefined;
  /** By id: a line that waits for a link and is sent again by `restored` is sent only once. */
  let outgoing = new Map<string, string>();
  let outgoingLength = 0;
  let probeId: string | undefined;
  const flushSoon = oncePerTurn(flush);

  return {
    async open(listener) {
      if (state !== "new") throw new Error("transport was opened already");
      state = "opening";
      events = listener;
      try {
        await new Promise<void>((resolve, reject) => openLink(resolve, reject));
      } catch (cause) {
        state = "closed";
        throw new Error(`could not reach a host at ${toShownUrl(url)}: ${(cause as Error).message}`, { cause });
      }
    },
    send(message) {
      if (state !== "open") throw new Error("transport is not open");
      const line = encodeMessage(message);
      checkRoom(outgoingLength + (link?.bufferedLength ?? 0), line);
      outgoingLength += line.length - (outgoing.get(message.id)?.length ?? 0);
      outgoing.set(message.id, line);
      if (isLinked) flushSoon();
    },
    close() {
      closing ??= close();
      return closing;
    },
  };

  /** `failed` is given for the first attempt, which is not repeated. */
  function openLink(opened?: () => void, failed?: (error: Error) => void): void {
    const target = lastSeq === 0 ? url : `${url}?from=${lastSeq}${boot === undefined ? "" : `&boot=${boot}`}`;
    link = openWebSocket(() => connect(target, toSubprotocols({ sessionId, token })), {
      receiveFirst(frame) {
        const isStarted = startFrom(frame);
        if (isStarted) opened?.();
        return isStarted;
      },
      receive: receiveFrame,
      probe: isProbing ? probe : undefined,
      closed(code, why) {
        isLinked = false;
        if (failed !== undefined && !wasLinked) failed(why);
        else if (isFinal(code)) end(why);
        else relinkLater(why);
      },
    });
  }

  /** The first frame: which session this is, and after which line it continues. */
  function startFrom(frame: string): boolean {
    const message = parseLine(frame);
    if (state === "closed" || message?.type !== resumed.type || typeof message.seq !== "number") return false;
    sessionId = String(message.session_id);
    lastSeq = acknowledgedSeq = message.seq;
    boot = typeof message.boot === "string" ? encodeURIComponent(message.boot) : undefined;
    isLinked = true;
    state = "open";
    backoff.opened();
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
    backoff.proven();
    let start = 0;
    while (start < frame.length && state === "open") {
      let end = frame.indexOf("\n", start);
      if (end === -1) end = frame.length;
      receiveLine(start === 0 && end === frame.length ? frame : frame.slice(start, end));
      start = end + 1;
    }
    restoreIfComplete();
    if (lastSeq - acknowledgedSeq >= acknowledgeEvery) acknowledge();
    else if (state === "open") acknowledgeTimer ??= setTimeout(acknowledge, acknowledgeAfterMs);
  }

  function receiveLine(line: string): void {
    const message = parseLine(line);
    lastSeq = message?.type === gap.type && typeof message.to === "number" ? message.to : lastSeq + 1;
    const isSignOfLife = probeId !== undefined && message?.req_id === probeId;
    if (message !== undefined && !isSignOfLife) events.receive(message);
  }

  function probe(): void {
    // A new id each time, or the host would take the probe for a repetition; a lost probe is not repeated.
    probeId = `link-${crypto.randomUUID()}`;
    link?.send(encodeMessage(createMessage(ping.type, probeId, Date.now(), {})));
  }

  function acknowledge(): void {
    clearTimeout(acknowledgeTimer);
    acknowledgeTimer = undefined;
    if (!isLinked || lastSeq === acknowledgedSeq) return;
    acknowledgedSeq = lastSeq;
    link?.send(formatAcknowledgement(lastSeq));
  }

  function flush(): void {
    if (!isLinked || outgoing.size === 0) return;
    const lines = outgoing;
    outgoing = new Map();
    outgoingLength = 0;
    let frame = "";
    for (const line of lines.values()) {
      if (frame !== "" && frame.length + line.length > maxFrameLength) {
        link?.send(frame);
        frame = "";
      }
      frame += frame === "" ? line : `\n${line}`;
    }
    link?.send(frame);
  }

  function relinkLater(reason: Error): void {
    if (state !== "open") return;
    const delayMs = backoff.next();
    if (delayMs === undefined)
      return end(
        new Error(`the host at ${toShownUrl(url)} could not be reached for too long: ${reason.message}`, {
          cause: reason,
        }),
      );
    reconnectTimer = setTimeout(() => openLink(), delayMs);
  }

  function end(reason?: Error): void {
    if (state === "closed") return;
    const wasOpen = state === "open";
    state = "closed";
    clearTimeout(acknowledgeTimer);
    clearTimeout(reconnectTimer);
    outgoing.clear();
    outgoingLength = 0;
    if (wasOpen) events.closed(reason);
  }

  async function close(): Promise<void> {
    flush();
    acknowledge();
    end();
    await link?.close();
  }
}

/** A retry would not help: the session has ended, or the host rejects the lines. */
function isFinal(code: number): boolean {
  return (
    code === webSocketCloseCodes.unknownSession || code === webSocketCloseCodes.sessionEnded || code === tooLargeCode
  );
}

function parseLine(line: string): Message | undefined {
  try {
    return parseJson(line) as Message;
  } catch {
    return undefined;
  }
}
