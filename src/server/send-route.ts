// POST /send: the hot path of the door. One body, one pass over its lines, one prebuilt answer.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Session } from "../host/session/session.ts";
import { isThenable } from "../host/thenable.ts";
import { bootHeader } from "../protocol/framing/sse.ts";
import { bearerToken, type Door, parseSeq, readUpTo } from "./door.ts";
import { readBody, replyError } from "./reply.ts";

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
  const { host } = door;
  const { headers } = request;
  if (session === undefined)
    return replyError(response, 404, "unknown session", "it was closed or has expired: POST /session for a new one");
  const token = bearerToken(headers.authorization);
  if (token !== undefined) session.bearerToken = token;
  const acknowledged = headers["last-event-id"];
  if (acknowledged !== undefined)
    session.acknowledge(readUpTo(door, session, parseSeq(acknowledged), headers[bootHeader]));
  readBody(request, host.limits.maxBodyBytes, (body) => {
    if (body === undefined) {
      // The reader of the stream learns of it in the same words as over any other transport.
      session.receiveTooLong();
      const hint = `send fewer lines per POST: maxBodyBytes is ${host.limits.maxBodyBytes}`;
      return replyError(response, 413, "body is too large", hint, { connection: "close" });
    }
    response.writeHead(200, acceptedHeaders);
    response.end(accepted);
    forEachLine(body.toString("utf8"), session);
  });
}

export function forEachLine(text: string, session: Pick<Session, "receiveLine">): void {
  let start = 0;
  while (start < text.length) {
    let end = text.indexOf("\n", start);
    if (end === -1) end = text.length;
    let line = start === 0 && end === text.length ? text : text.slice(start, end);
    start = end + 1;
    // A line that begins with a brace needs no trimming: JSON allows white space, a carriage return included, at its end.
    if (line.charCodeAt(0) !== 0x7b) line = line.trim();
    if (line !== "") session.receiveLine(line);
  }
}
