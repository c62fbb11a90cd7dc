// /mcp: MCP over HTTP in every revision. The first request of a client shows its revision.
import { createHash, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { isInitializeRequest, isJsonContentType, isLegacyRequest, PARSE_ERROR } from "@modelcontextprotocol/server";
import { A2EConnectionError } from "../../../client/errors.ts";
import type { A2EHost } from "../../../host/host.ts";
import { type Clock, systemClock } from "../../../protocol/envelope.ts";
import { A2EError } from "../../../protocol/errors.ts";
import type { JsonValue } from "../../../protocol/json.ts";
import type { Limits } from "../../../protocol/limits.ts";
import { createAgentSetting } from "../agent.ts";
import { toAgentId } from "../connection.ts";
import { clientNameOf } from "../messages.ts";
import { HttpSessions } from "./http-session.ts";
import { readJsonBody } from "./json-body.ts";
import { keyOfCaller, type McpCaller } from "./mcp-caller.ts";
import { toWebRequest } from "./node-handler.ts";
import { replyRpcError, replyUnknownSession } from "./rpc-reply.ts";
import { openSseSession } from "./sse-session.ts";
import { openStatelessSession } from "./stateless-session.ts";
import { openStreamableSession } from "./streamable-session.ts";

export const mcpPaths = { streamable: "/mcp", sse: "/mcp/sse", messages: "/mcp/messages" } as const;

export interface McpDoor {
  /** Serves one request of a client whose credentials the host accepted. */
  handle(request: IncomingMessage, response: ServerResponse, caller: McpCaller): Promise<void>;
  /** Number of clients with a session. */
  readonly size: number;
  /** Ends sessions that were idle for too long; also runs periodically. */
  expire(): void;
  /** Ends all sessions; calls in flight may still finish for `drainMs`. */
  close(drainMs?: number): Promise<void>;
}

interface McpDoorOptions {
  version: string;
  clock?: Clock;
}

export function createMcpDoor(host: A2EHost, { version, clock = systemClock }: McpDoorOptions): McpDoor {
  const setting = createAgentSetting(host, version);
  const sessions = new HttpSessions(host.limits.sessionIdleMs, () => clock.now());
  /** Stateless clients whose session is being opened; their first requests may arrive at the same time. */
  const opening = new Map<string, Promise<void>>();

  return {
    get size() {
      return sessions.size;
    },
    async handle(request, response, caller) {
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
      const agentId = searchParams.get("agent") ?? undefined;
      try {
        if (pathname === mcpPaths.sse && request.method === "GET") return await openSse(response, caller, agentId);
        if (pathname === mcpPaths.sse) return replyRpcError(response, 405, "only GET opens this stream");
        if (request.method !== "POST") return await handleStream(request, response, caller);
        const body = await readPost(request, response, host.limits);
        if (body === undefined) return;
        if (pathname === mcpPaths.messages) {
          return await handleKnown(searchParams.get("session_id") ?? "", request, response, caller, body);
        }
        if (await isLegacyRequest(toWebRequest(request), body))
          await handleLegacy(request, response, caller, agentId, body);
        else await handleStateless(request, response, caller, agentId, body);
      } catch (error) {
        replyFailure(host, response, error);
      }
    },
    expire: () => sessions.expire(),
    close: (drainMs = 0) => sessions.close(drainMs),
  };

  async function openSse(response: ServerResponse, caller: McpCaller, agentId: string | undefined): Promise<void> {
    // The session of the host is opened later, when the client has sent its name.
    if (sessions.isClosed) throw new A2EError("cancelled", "the host is shutting down");
    if (sessions.size >= host.limits.maxSessions)
      throw new A2EError("rate_limited", "this host accepts no more sessions");
    const id = randomUUID();
    const endpoint = `${mcpPaths.messages}?session_id=${id}`;
    const session = await openSseSession(setting, { response, endpoint, caller, agentId });
    if (response.destroyed) return session.close();
    sessions.add(id, session);
    sessions.hold(id, response);
  }

  /** GET opens the stream of a session, DELETE ends the session. */
  async function handleStream(request: IncomingMessage, response: ServerResponse, caller: McpCaller): Promise<void> {
    const id = request.headers["mcp-session-id"];
    if (typeof id === "string") return handleKnown(id, request, response, caller);
    response.setHeader("allow", "POST");
    replyRpcError(response, 405, `without a session only POST; clients of 2024-11-05 use ${mcpPaths.sse}`);
  }

  async function handleKnown(
    id: string,
    request: IncomingMessage,
    response: ServerResponse,
    caller: McpCaller,
    body?: JsonValue,
  ): Promise<void> {
    const session = sessions.get(id);
    // A request of another principal does not even learn that the session exists.
    if (session === undefined || session.callerKey !== keyOfCaller(caller)) return replyUnknownSession(response);
    await session.useToken?.(caller.token);
    await sessions.handle(id, request, response, body);
  }

  async function handleLegacy(
    request: IncomingMessage,
    response: ServerResponse,
    caller: McpCaller,
    agentId: string | undefined,
    body: JsonValue,
  ): Promise<void> {
    const known = request.headers["mcp-session-id"];
    if (typeof known === "string") return handleKnown(known, request, response, caller, body);
    const first = (Array.isArray(body) ? body : [body]).find((message) => isInitializeRequest(message));
    if (!isInitializeRequest(first)) {
      return replyRpcError(response, 400, "header Mcp-Session-Id is missing: initialize first");
    }
    const id = randomUUID();
    const clientName = first.params.clientInfo.name;
    const session = await openStreamableSession(setting, { id, caller, agentId, clientName });
    // If the client disconnected meanwhile, it will never learn the id of the session.
    if (response.destroyed) return session.close();
    sessions.add(id, session);
    await sessions.handle(id, request, response, body);
    // Likewise if the SDK rejected the request.
    if (response.statusCode >= 400) await session.close();
  }

  async function handleStateless(
    request: IncomingMessage,
    response: ServerResponse,
    caller: McpCaller,
    agentId: string | undefined,
    body: JsonValue,
  ): Promise<void> {
    const agent = agentId ?? toAgentId(clientNameOf(body));
    // Caller and agent together: the same agent name of another principal, or of a narrowed token, is another client.
    const key = createHash("sha256")
      .update(JSON.stringify([keyOfCaller(caller), agent]))
      .digest("hex");
    if (sessions.get(key) === undefined) {
      const open = async () => sessions.add(key, await openStatelessSession(setting, { caller, agentId: agent }));
      const opened = opening.get(key) ?? open().finally(() => opening.delete(key));
      opening.set(key, opened);
      await opened;
    }
    await sessions.get(key)?.useToken?.(caller.token);
    await sessions.handle(key, request, response, body);
  }
}

/** The body of a POST as JSON; undefined if it was rejected with an error response. */
async function readPost(
  request: IncomingMessage,
  response: ServerResponse,
  limits: Limits,
): Promise<JsonValue | undefined> {
  if (!isJsonContentType(request.headers["content-type"])) {
    replyRpcError(response, 415, "Content-Type must be application/json");
    return undefined;
  }
  const body = await readJsonBody(request, limits);
  if (body === "too-large") replyRpcError(response, 413, `the body is larger than ${limits.maxBodyBytes} bytes`);
  else if (body === "too-deep") replyRpcError(response, 400, `the body is nested deeper than ${limits.maxDepth}`);
  else if (body === "not-json") replyRpcError(response, 400, "Parse error: the body is not valid JSON", PARSE_ERROR);
  else return body.value;
  return undefined;
}

function replyFailure(host: A2EHost, response: ServerResponse, error: unknown): void {
  if (response.destroyed) return;
  if (error instanceof A2EError && (error.code === "rate_limited" || error.code === "cancelled")) {
    return replyRpcError(response, 503, error.message);
  }
  if (error instanceof A2EConnectionError && error.code === "handshake_failed") {
    // The principal has no session left.
    return replyRpcError(response, error.message.endsWith(": rate_limited") ? 429 : 403, error.message);
  }
  host.log.error("an MCP request failed", { error });
  replyRpcError(response, 500, "the host could not answer; its log says why");
}
