// Sessions over HTTP: create, end, save, restore, list. A session's id is the secret that opens it.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Session } from "../host/session.ts";
import { A2EError } from "../protocol/errors.ts";
import { bearerToken, beginningOf, credentialsOf, type Door, isOperator, refuseUnauthorized } from "./door.ts";
import { readBody, replyError, replyJson } from "./reply.ts";

/** Bodies of these routes are a few fields. */
const maxFieldBytes = 64 * 1024;

export async function createSession(door: Door, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { host, isDraining } = door;
  if (isDraining) return replyError(response, 503, "the host is shutting down", "", { "retry-after": "1" });
  const { restore } = await readFields(request);
  if (restore !== undefined && typeof restore !== "string")
    return replyError(response, 400, "restore: expected the id of a session");
  const session =
    restore === undefined
      ? host.sessions.create(await beginningOf(door, request))
      : await host.sessions.restore(restore);
  if (session === undefined) return replyError(response, 404, "nothing was saved of this session");
  session.bearerToken = bearerToken(request.headers.authorization) ?? session.bearerToken;
  replyJson(response, 200, { session_id: session.id });
}

export async function deleteSession(
  { host }: Door,
  request: IncomingMessage,
  response: ServerResponse,
  sessionId?: string,
): Promise<void> {
  const id = sessionId ?? request.headers["x-session-id"];
  if (typeof id !== "string" || id === "") return replyError(response, 400, "header X-Session-Id is missing");
  const wasThere = await host.sessions.delete(id);
  if (wasThere) replyJson(response, 200, { ok: true });
  else replyError(response, 404, "unknown session");
}

export async function saveSnapshot(
  door: Door,
  request: IncomingMessage,
  response: ServerResponse,
  sessionId: string,
): Promise<void> {
  const session = await door.host.sessions.find(sessionId);
  if (session === undefined) return replyError(response, 404, "unknown session");
  if (!(await maySteer(door, request, session))) return refuseUnauthorized(door, request, response);
  const { label = "" } = await readFields(request);
  if (typeof label !== "string" || label.length > 128)
    return replyError(response, 400, "label: expected at most 128 characters");
  replyJson(response, 200, await session.saveSnapshot(label));
}

/** A session that is not live is restored under its id, and its agent completes the restoration with a handshake. */
export async function restoreSnapshot(
  door: Door,
  request: IncomingMessage,
  response: ServerResponse,
  sessionId: string,
): Promise<void> {
  const live = await door.host.sessions.find(sessionId);
  if (!(await maySteer(door, request, live))) return refuseUnauthorized(door, request, response);
  const { snapshot_id = "" } = await readFields(request);
  if (typeof snapshot_id !== "string") return replyError(response, 400, "snapshot_id: expected a string");
  if (live !== undefined)
    return replyJson(response, 200, { session_id: sessionId, ...(await live.restoreSnapshot(snapshot_id)) });
  const restored = await door.host.sessions.restore(sessionId, snapshot_id);
  if (restored === undefined) return replyError(response, 404, "nothing was saved of this session");
  replyJson(response, 200, { session_id: restored.id });
}

export async function listSnapshots(
  door: Door,
  request: IncomingMessage,
  response: ServerResponse,
  sessionId: string,
): Promise<void> {
  const live = await door.host.sessions.find(sessionId);
  if (!(await maySteer(door, request, live))) return refuseUnauthorized(door, request, response);
  const snapshots = await door.host.sessions.listSnapshots(sessionId);
  if (live === undefined && snapshots.length === 0) return replyError(response, 404, "unknown session");
  replyJson(response, 200, { snapshots });
}

export async function listSessions(door: Door, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (!(await isOperator(door, request))) return refuseUnauthorized(door, request, response);
  const sessions = door.host.sessions
    .list()
    .map((session) => session.summary())
    // Earlier releases called the field session_id, and cut the id short.
    .map((summary) => ({ session_id: summary.handle, ...summary }));
  replyJson(response, 200, { sessions });
}

/** An open session's agent has shown its token in the handshake; for any other, the request must. */
async function maySteer({ host }: Door, request: IncomingMessage, session: Session | undefined): Promise<boolean> {
  if (session?.status === "open") return true;
  return (await host.authenticate({ agent_id: "", ...credentialsOf(request) })) !== undefined;
}

/** The fields of a JSON body; empty without a body. Rejects with an error for the peer. */
function readFields(request: IncomingMessage): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    readBody(request, maxFieldBytes, (body) => {
      if (body === undefined)
        return reject(new A2EError("invalid_message", `body is larger than ${maxFieldBytes} bytes`));
      const text = body.toString("utf8").trim();
      if (text === "") return resolve({});
      try {
        const value: unknown = JSON.parse(text);
        if (typeof value === "object" && value !== null && !Array.isArray(value))
          return resolve(value as Record<string, unknown>);
      } catch {}
      reject(new A2EError("invalid_message", "body: expected one JSON object or nothing"));
    });
  });
}
