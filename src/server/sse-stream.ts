// GET /stream: the outgoing lines of a session as server-sent events. All lines of a turn are sent in a single write,
// and a slow reader stops its own cursor instead of filling the host's memory.
import type { IncomingMessage, ServerResponse } from "node:http";
import { createOutboundPump, type OutboundPump } from "../framing/outbound-pump.ts";
import { bootHeader, formatSseEvent, keepAliveComment, keepAliveHeader } from "../framing/sse.ts";
import type { OutboundLine } from "../host/outbound/outbound-log.ts";
import type { Session } from "../host/session.ts";
import { isThenable } from "../protocol/awaitable.ts";
import { type Door, type OpenStream, parseSeq, readUpTo } from "./door.ts";
import { replyError } from "./reply.ts";

/**
 * A reader without `Last-Event-ID` receives all lines that the session still has, also when it reconnects: agents that
 * do not support ids reconnect like that, and a repeated line does less harm than a lost line.
 */
export function openEventStream(door: Door, request: IncomingMessage, response: ServerResponse): void | Promise<void> {
  const sessionId = request.headers["x-session-id"];
  if (typeof sessionId !== "string" || sessionId === "") {
    return replyError(
      response,
      400,
      "header X-Session-Id is missing",
      "POST /session creates a session and returns its id",
    );
  }
  const session = door.host.sessions.find(sessionId);
  if (!isThenable(session)) return streamTo(door, session, request, response);
  return session.then((recovered) => streamTo(door, recovered, request, response));
}

function streamTo(door: Door, session: Session | undefined, request: IncomingMessage, response: ServerResponse): void {
  const { host, streams, formatted } = door;
  // The reader may have left while the session was recovered.
  if (response.destroyed) return;
  if (session === undefined || session.status === "closed") {
    return replyError(response, 404, "unknown session", "it was closed or has expired: POST /session for a new one");
  }
  let isQuiet = true;
  const stream: OpenStream = {
    get isEnding() {
      return session.status === "closing";
    },
    keepAlive() {
      // The session has ended, and the reader does not read the last lines. Nothing may be written any more.
      if (isQuiet && response.writableEnded) return void response.destroy();
      if (isQuiet && response.writableLength === 0) response.write(keepAliveComment);
      isQuiet = true;
    },
    end() {
      // The session may still send lines, but this reader is gone.
      pump.close();
      response.end();
    },
  };
  const { headers } = request;
  const from = readUpTo(door, session, parseSeq(headers["last-event-id"]), headers[bootHeader]);
  const pump: OutboundPump = createOutboundPump(door.rounds.pace(session), from, host.limits.maxReaderBytes, {
    write(lines) {
      isQuiet = false;
      const { socket } = response;
      // On a connection with several requests, a response has no socket before its turn. HTTP/1.0 does not support
      // chunks.
      if (socket === null || !socket.writable || !response.chunkedEncoding)
        return response.write(format(lines), "latin1");
      const isTaken =
        session.readerCount > 1
          ? socket.write(formatShared(lines, formatted))
          : socket.write(toChunk(format(lines)), "latin1");
      // Only now: before its turn, a drain event belongs to the answer of another request.
      if (!isTaken) socket.once("drain", pump.resume);
      return isTaken;
    },
    ended() {
      isQuiet = false;
      response.end();
    },
  });
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
    "last-event-id": pump.start,
    [bootHeader]: host.bootId,
    [keepAliveHeader]: door.keepAliveMs,
  });
  response.write(": open\n\n");
  streams.add(stream);
  response.on("drain", pump.resume);
  response.on("close", () => {
    request.socket.off("drain", pump.resume);
    pump.close();
    streams.delete(stream);
  });
}

function format(lines: readonly OutboundLine[]): string {
  let text = "";
  for (const { seq, line } of lines) text += formatSseEvent(seq, line);
  return text;
}

/**
 * The same bytes as from `response.write`, but as a single piece: that writes four pieces each, which is slow with a
 * thousand readers.
 */
function toChunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

function formatShared(lines: readonly OutboundLine[], formatted: Door["formatted"]): Buffer {
  let buffer = formatted.get(lines);
  if (buffer === undefined) {
    buffer = Buffer.from(toChunk(format(lines)), "latin1");
    formatted.set(lines, buffer);
  }
  return buffer;
}
