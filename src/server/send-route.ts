// POST /send: the hot path of the door. One body, one pass over its lines, one prebuilt answer. A body is either taken
// whole, and then answered with 200, or refused whole: a peer that repeats it after a refusal runs nothing twice.
import type { IncomingMessage, ServerResponse } from "node:http";
import { bootHeader } from "../framing/sse.ts";
import type { Session } from "../host/session.ts";
import { isThenable } from "../protocol/awaitable.ts";
import { bearerToken, type Door, parseSeq, readUpTo } from "./door.ts";
import { readBody, replyError, replyJson } from "./reply.ts";

const accepted = Buffer.from('{"ok":true}');
const acceptedHeaders = { "content-type": "application/json", "content-length": accepted.length };

export function receiveLines(door: Door, request: IncomingMessage, response: ServerResponse): void | Promise<void> {
  const { host } = door;
  const { headers } = request;
  const sessionId = headers["x-session-id"];
  if (typeof sessionId !== "string" || sessionId === "") {
    return replyError(
      response,
      400,
      "header X-Session-Id is missing",
      "POST /session creates a session and returns its id",
    );
  }
  const session = host.sessions.find(sessionId);
  if (!isThenable(session)) return receiveFor(door, session, request, response);
  // Its lines wait in the socket while the session is recovered.
  return session.then((recovered) => receiveFor(door, recovered, request, response));
}

function receiveFor(
  door: Door,
  session: Session | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { headers } = request;
  if (session === undefined) return replyGone(response);
  const token = bearerToken(headers.authorization);
  if (token !== undefined) session.bearerToken = token;
  const acknowledged = headers["last-event-id"];
  if (acknowledged !== undefined)
    session.acknowledge(readUpTo(door, session, parseSeq(acknowledged), headers[bootHeader]));
  if (session.intake.isFull) waitForRoom(door, session, request, response);
  else receiveBody(door, session, request, response);
}

function receiveBody({ host }: Door, session: Session, request: IncomingMessage, response: ServerResponse): void {
  const { limits } = host;
  const isShort = session.awaitsHandshake && limits.maxBytesBeforeHandshake < limits.maxBodyBytes;
  const limit = isShort ? "maxBytesBeforeHandshake" : "maxBodyBytes";
  readBody(request, limits[limit], (body) => {
    if (body === undefined) {
      // The reader of the stream is told in the same words as over any other transport.
      session.intake.receiveTooLong();
      const hint = `send fewer lines per POST: ${limit} is ${limits[limit]}`;
      return replyError(response, 413, "body is too large", hint, { connection: "close" });
    }
    response.writeHead(200, acceptedHeaders);
    response.end(accepted);
    session.intake.receiveText(body.toString("utf8"));
  });
}

/** The body stays unread until earlier lines of the session were handled. */
function waitForRoom(door: Door, session: Session, request: IncomingMessage, response: ServerResponse): void {
  const { intakeWaitMs } = door.host.limits;
  const stop = () => {
    clearTimeout(timer);
    stopWaiting();
    response.off("close", stop);
  };
  const stopWaiting = session.intake.onceRoom(() => {
    stop();
    if (session.status === "closed") replyGone(response);
    else receiveBody(door, session, request, response);
  });
  const timer = setTimeout(() => {
    stop();
    replyBusy(response, session);
  }, intakeWaitMs);
  response.on("close", stop);
}

function replyGone(response: ServerResponse): void {
  replyError(response, 404, "unknown session", "it was closed or has expired: POST /session for a new one");
}

const retryAfterMs = 1_000;

function replyBusy(response: ServerResponse, session: Session): void {
  const hint = session.readerCount > 0 ? "read the stream faster" : "open GET /stream and read the answers";
  const detail = { limit: "maxIntakeBytes", retry_after_ms: retryAfterMs };
  replyJson(
    response,
    429,
    { error: "earlier lines of this session still wait", hint, code: "rate_limited", retryable: true, detail },
    { "retry-after": String(retryAfterMs / 1000) },
  );
}
