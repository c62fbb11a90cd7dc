// One WebSocket from its beginning to its end. However either comes about, both are told once and in time.
import { webSocketCloseCodes } from "../../protocol/framing/websocket.ts";

/** What the transport needs of a WebSocket; that of browsers and that of `ws` both have it. */
export interface WebSocketLike {
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  /** Only `ws` says what went wrong; browsers keep it from the page. */
  onerror: ((event: { message?: unknown }) => void) | null;
  /** What was sent and is not on its way yet. */
  readonly bufferedAmount?: number;
  send(text: string): void;
  close(code?: number): void;
  /** Ends it at once, where that is possible: closing waits for the peer. */
  terminate?(): void;
}

export type ConnectWebSocket = (url: string, protocols: string[]) => WebSocketLike | Promise<WebSocketLike>;

interface LinkEvents {
  /** The first frame; false refuses it, and the link is closed. */
  receiveFirst(frame: string): boolean;
  receive(frame: string): void;
  /** Nothing came for a while: something should be sent that the host answers. Absent where the platform looks itself. */
  probe?: (() => void) | undefined;
  /** Called once, unless the link was closed from this side after its first frame. */
  closed(code: number, why: Error): void;
}

export interface WebSocketLink {
  readonly bufferedLength: number;
  send(frame: string): void;
  /** Resolves when the socket is closed, or has taken too long for it. */
  close(): Promise<void>;
}

/** A host that has not said its first word by then is not there. */
const openTimeoutMs = 30_000;
/** After so much silence the host is asked for a sign of life, and left where none comes in the time after it. */
const quietMs = 45_000;
const probeMs = 15_000;
/** Closing waits this long for the peer's part of it. */
const closeTimeoutMs = 1_000;
/** A frame was larger than its receiver takes. This and the next are of the standard (RFC 6455). */
export const tooLargeCode = 1009;
/** As of a link that was lost without a word: no close frame has this code. */
const lostCode = 1006;

export function openWebSocket(
  connect: () => WebSocketLike | Promise<WebSocketLike>,
  events: LinkEvents,
): WebSocketLink {
  let socket: WebSocketLike | undefined;
  let isOpen = false;
  let isOver = false;
  let problem = "";
  let lastHeardAt = 0;
  let probedAt: number | undefined;
  let watchdog: ReturnType<typeof setInterval> | undefined;
  const timer = setTimeout(() => fail(new Error(`no answer within ${openTimeoutMs / 1000} s`)), openTimeoutMs);
  void begin();

  return {
    get bufferedLength() {
      return socket?.bufferedAmount ?? 0;
    },
    send: (frame) => socket?.send(frame),
    close,
  };

  async function begin(): Promise<void> {
    let connected: WebSocketLike;
    try {
      connected = await connect();
    } catch (error) {
      return fail(error as Error);
    }
    // What went wrong is told by the close that follows.
    connected.onerror = ({ message }) => {
      if (typeof message === "string") problem = message;
    };
    if (isOver) return cut(connected);
    socket = connected;
    connected.onmessage = ({ data }) => {
      if (isOver || typeof data !== "string") return;
      lastHeardAt = performance.now();
      if (isOpen) return events.receive(data);
      clearTimeout(timer);
      isOpen = events.receiveFirst(data);
      if (isOpen) watch();
      else fail(new Error("what answers there is no A2E host of this release"));
    };
    connected.onclose = ({ code, reason }) => finish(code, toError(code, reason, problem));
  }

  /** A link that was cut without a word shows by what does not come. Timers may be late by minutes in a hidden page. */
  function watch(): void {
    if (events.probe === undefined || isOver) return;
    watchdog = setInterval(() => {
      const now = performance.now();
      if (probedAt !== undefined && lastHeardAt < probedAt) {
        if (now - probedAt >= probeMs) fail(new Error("the host fell silent"));
      } else if (now - lastHeardAt >= quietMs) {
        probedAt = now;
        events.probe?.();
      }
    }, probeMs);
  }

  function fail(why: Error): void {
    finish(lostCode, why);
    if (socket !== undefined) cut(socket);
  }

  function finish(code: number, why: Error): void {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    clearInterval(watchdog);
    events.closed(code, why);
  }

  async function close(): Promise<void> {
    if (!isOpen) return fail(new Error("closed meanwhile"));
    if (isOver) return;
    isOver = true;
    clearInterval(watchdog);
    const last = socket as WebSocketLike;
    await new Promise<void>((resolve) => {
      const late = setTimeout(() => {
        cut(last);
        resolve();
      }, closeTimeoutMs);
      last.onclose = () => {
        clearTimeout(late);
        resolve();
      };
      last.close(1000);
    });
  }
}

/** Whatever it still says or does is of no interest. */
function cut(socket: WebSocketLike): void {
  socket.onmessage = null;
  socket.onclose = null;
  socket.onerror = () => {};
  if (socket.terminate === undefined) socket.close();
  else socket.terminate();
}

function toError(code: number, reason: string, problem: string): Error {
  if (code === webSocketCloseCodes.unknownSession)
    return new Error("the session is gone: the host closed it or no longer knows it");
  if (code === webSocketCloseCodes.sessionEnded) return new Error("the host closed the session");
  if (code === tooLargeCode) return new Error("a message was larger than the host takes");
  if (problem !== "") return new Error(problem);
  return new Error(`the WebSocket was closed with ${code}${reason === "" ? "" : ` ${reason}`}`);
}

export function connectInBrowser(url: string, protocols: string[]): WebSocketLike {
  return new WebSocket(url, protocols) as unknown as WebSocketLike;
}
