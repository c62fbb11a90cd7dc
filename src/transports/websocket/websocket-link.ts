// A single WebSocket from opening to closing. Its opening and its end are each reported exactly once, with a time
// limit.
import { webSocketCloseCodes } from "../../framing/websocket.ts";

/** The members of a WebSocket that the transport needs; browsers and `ws` both have them. */
export interface WebSocketLike {
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  /** Only `ws` passes the reason; browsers hide it from the page. */
  onerror: ((event: { message?: unknown }) => void) | null;
  /** Bytes that were passed to `send` and not written yet. */
  readonly bufferedAmount?: number;
  send(text: string): void;
  close(code?: number): void;
  /** Ends the socket at once, if the platform can: closing waits for the peer. */
  terminate?(): void;
}

export type ConnectWebSocket = (url: string, protocols: string[]) => WebSocketLike | Promise<WebSocketLike>;

interface LinkEvents {
  /** The first frame; false refuses it, and the link is closed. */
  receiveFirst(frame: string): boolean;
  receive(frame: string): void;
  /**
   * Nothing was received for a while: send a message that the host answers. Absent if the platform detects dead links
   * itself.
   */
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

/** The maximum time until the first message of the host. */
const openTimeoutMs = 30_000;
/** After this much silence the host is probed; if the answer does not arrive in time, the link is cut. */
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
    // The error is reported by the close event that follows.
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
      else fail(new Error("the server there is not an A2E host of this release"));
    };
    connected.onclose = ({ code, reason }) => finish(code, toError(code, reason, problem));
  }

  /**
   * A link that was cut without a close frame is detected by missing answers. Timers may be late by minutes in a
   * hidden page.
   */
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

/** Ignores all further events of the socket. */
function cut(socket: WebSocketLike): void {
  socket.onmessage = null;
  socket.onclose = null;
  socket.onerror = () => {};
  if (socket.terminate === undefined) socket.close();
  else socket.terminate();
}

function toError(code: number, reason: string, problem: string): Error {
  if (code === webSocketCloseCodes.unknownSession)
    return new Error("the session is gone: the host closed it or no longer has it");
  if (code === webSocketCloseCodes.sessionEnded) return new Error("the host closed the session");
  if (code === tooLargeCode) return new Error("a message was larger than the host takes");
  if (problem !== "") return new Error(problem);
  return new Error(`the WebSocket was closed with ${code}${reason === "" ? "" : ` ${reason}`}`);
}

export function connectInBrowser(url: string, protocols: string[]): WebSocketLike {
  return new WebSocket(url, protocols) as unknown as WebSocketLike;
}
