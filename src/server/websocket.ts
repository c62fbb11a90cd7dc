// GET /ws: a session over one WebSocket. The first frame says where the log is read from; after it each text frame
// carries the lines of one turn, which the peer counts, so that it can name its place when it comes back.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { createOutboundPump, type OutboundPump } from "../framing/outbound-pump.ts";
import {
  parseAcknowledgement,
  parseSubprotocols,
  webSocketCloseCodes,
  webSocketProtocol,
} from "../framing/websocket.ts";
import type { OutboundLine } from "../host/outbound/outbound-log.ts";
import type { Session } from "../host/session.ts";
import { andThen, isThenable } from "../protocol/awaitable.ts";
import { createMessage, encodeMessage } from "../protocol/codec.ts";
import { resumed } from "../protocol/core.ts";
import { createIdSource, type IdSource } from "../protocol/envelope.ts";
import { A2EError } from "../protocol/errors.ts";
import { bearerToken, beginningOf, type Door, type OpenStream, parseSeq, readUpTo } from "./door.ts";

/** Lines that travel in one frame. A frame that is cut is lost whole, so a bad link gets ahead only by small ones. */
const maxFrameLength = 4 * 1024;

export interface WebSocketDoor {
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Cuts what has not closed by itself. */
  terminate(): void;
  /** Resolves when no socket is open. */
  closed(): Promise<void>;
}

export function createWebSocketDoor(door: Door): WebSocketDoor {
  const nextId = createIdSource();
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: door.host.limits.maxBodyBytes,
    clientTracking: true,
    // Only the version is echoed: the other subprotocols carry secrets.
    handleProtocols: (protocols) => (protocols.has(webSocketProtocol) ? webSocketProtocol : false),
  });
  return {
    accept(request, socket, head) {
      server.handleUpgrade(request, socket, head, (webSocket) => {
        webSocket.on("error", () => webSocket.terminate());
        void accept(door, request, webSocket, socket, nextId);
      });
    },
    terminate() {
      for (const webSocket of server.clients) webSocket.terminate();
    },
    closed() {
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function accept(
  door: Door,
  request: IncomingMessage,
  webSocket: WebSocket,
  socket: Duplex,
  nextId: IdSource,
): Promise<void> {
  const chosen = chooseSession(door, request, webSocket);
  if (!isThenable(chosen)) {
    if (chosen !== undefined) serve(door, chosen, request, webSocket, socket, nextId);
    return;
  }
  // Frames wait in the socket while the session is recovered.
  webSocket.pause();
  const session = await chosen;
  webSocket.resume();
  if (session !== undefined && webSocket.readyState === webSocket.OPEN)
    serve(door, session, request, webSocket, socket, nextId);
}

/** Closes the socket and returns undefined if there is no session for it. */
function chooseSession(
  door: Door,
  request: IncomingMessage,
  webSocket: WebSocket,
): Session | undefined | Promise<Session | undefined> {
  const { host, isDraining } = door;
  const asked = parseSubprotocols(request.headers["sec-websocket-protocol"] ?? "");
  const header = request.headers["x-session-id"];
  const sessionId = asked.sessionId ?? (typeof header === "string" ? header : undefined);
  const refuse = (error: unknown) => {
    if (!(error instanceof A2EError)) host.log.error("a session could not be found", { error });
    webSocket.close(1013, error instanceof A2EError ? error.message : "");
    return undefined;
  };
  const use = (session: Session | undefined) => {
    if (session === undefined || session.status === "closed") {
      webSocket.close(webSocketCloseCodes.unknownSession, "unknown session");
      return undefined;
    }
    session.bearerToken = asked.token ?? bearerToken(request.headers.authorization) ?? session.bearerToken;
    return session;
  };
  try {
    if (sessionId === undefined && isDraining) throw new A2EError("cancelled", "the host is shutting down");
    const found =
      sessionId === undefined
        ? andThen(beginningOf(door, request, asked.token), (beginning) => host.sessions.create(beginning))
        : host.sessions.find(sessionId);
    return isThenable(found) ? found.then(use).catch(refuse) : use(found);
  } catch (error) {
    return refuse(error);
  }
}

function serve(
  door: Door,
  session: Session,
  request: IncomingMessage,
  webSocket: WebSocket,
  socket: Duplex,
  nextId: IdSource,
): void {
  const { host, streams } = door;
  let isAlive = true;
  const stream: OpenStream = {
    get isEnding() {
      return session.status === "closing";
    },
    keepAlive() {
      // No pong since the last ping: the peer is gone. While nothing is read, no pong can arrive.
      if (!isAlive && !webSocket.isPaused) return webSocket.terminate();
      isAlive = false;
      webSocket.ping();
    },
    end: () => webSocket.close(1001, "the host is shutting down"),
  };
  const asked = new URLSearchParams((request.url ?? "").split("?", 2)[1] ?? "");
  const from = readUpTo(door, session, parseSeq(asked.get("from")), asked.get("boot"));
  const pump: OutboundPump = createOutboundPump(door.rounds.pace(session), from, host.limits.maxReaderBytes, {
    write(lines) {
      socket.cork();
      forEachFrame(lines, (frame) => webSocket.send(frame));
      socket.uncork();
      return !socket.writableNeedDrain;
    },
    ended: () => webSocket.close(webSocketCloseCodes.sessionEnded, "the session has ended"),
  });
  const position = { session_id: session.id, seq: pump.start, last: session.lastSeq, boot: host.bootId };
  webSocket.send(encodeMessage(createMessage(resumed.type, nextId(), Date.now(), position)));
  streams.add(stream);
  socket.on("drain", pump.resume);
  webSocket.on("pong", () => {
    isAlive = true;
  });
  webSocket.on("message", (data: Buffer, isBinary: boolean) => {
    isAlive = true;
    if (isBinary) return webSocket.close(1003, "text frames only");
    const text = data.toString("utf8");
    const acknowledged = parseAcknowledgement(text);
    if (acknowledged !== undefined) return session.acknowledge(acknowledged);
    session.intake.receiveText(text);
    if (session.intake.isFull) pauseReading();
  });
  let stopWaiting = () => {};
  function pauseReading(): void {
    if (webSocket.isPaused) return;
    webSocket.pause();
    stopWaiting = session.intake.onceRoom(() => webSocket.resume());
  }
  webSocket.on("close", () => {
    stopWaiting();
    pump.close();
    streams.delete(stream);
  });
}

function forEachFrame(lines: readonly OutboundLine[], send: (frame: string) => void): void {
  let frame = "";
  for (const { line } of lines) {
    if (frame !== "" && frame.length + line.length > maxFrameLength) {
      send(frame);
      frame = "";
    }
    frame += frame === "" ? line : `\n${line}`;
  }
  send(frame);
}
