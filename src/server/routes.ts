// The routes of a server: its own, and those that other protocols add.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Door } from "./door.ts";
import { type FurtherRoute, toMethods } from "./further-route.ts";
import { replyMetrics } from "./metrics-route.ts";
import type { ProtectedResource } from "./protected-resource.ts";
import { replyError, replyJson } from "./reply.ts";
import { preflightHeaders } from "./request-guard.ts";
import { receiveLines } from "./send-route.ts";
import {
  createSession,
  deleteSession,
  listSessions,
  listSnapshots,
  restoreSnapshot,
  saveSnapshot,
} from "./session-routes.ts";
import { openEventStream } from "./sse-stream.ts";

type Handler = (
  door: Door,
  request: IncomingMessage,
  response: ServerResponse,
  sessionId: string,
) => void | Promise<void>;

export type Routes = ReadonlyMap<string, Readonly<Record<string, Handler>>>;

const ownRoutes: Routes = new Map<string, Readonly<Record<string, Handler>>>([
  ["/session", { POST: createSession, DELETE: (door, request, response) => deleteSession(door, request, response) }],
  ["/send", { POST: receiveLines }],
  ["/stream", { GET: openEventStream }],
  ["/health", { GET: (_door, _request, response) => replyJson(response, 200, { status: "ok" }) }],
  ["/ready", { GET: replyReadiness }],
  ["/sessions", { GET: listSessions }],
  [
    "/ws",
    {
      GET: (_door, _request, response) =>
        replyError(response, 426, "this is a WebSocket", "", { upgrade: "websocket" }),
    },
  ],
  ["/session/{id}", { DELETE: deleteSession }],
  ["/session/{id}/snapshot", { POST: saveSnapshot }],
  ["/session/{id}/restore", { POST: restoreSnapshot }],
  ["/session/{id}/snapshots", { GET: listSnapshots }],
]);

interface RouteParts {
  readonly further: readonly FurtherRoute[];
  readonly metrics: (() => string) | undefined;
  readonly protectedResource: ProtectedResource | undefined;
}

/** Further routes cannot take a path of the server itself. */
export function createRoutes({ further, metrics, protectedResource }: RouteParts): Routes {
  return new Map([
    ...further.flatMap((route) => route.paths.map((path) => [path, toMethods(route)] as const)),
    ...ownRoutes,
    ...metricsRoute(metrics),
    ...metadataRoutes(protectedResource),
  ]);
}

export function route(
  routes: Routes,
  door: Door,
  request: IncomingMessage,
  response: ServerResponse,
): void | Promise<void> {
  const path = pathOf(request);
  const ofSession = /^\/session\/([^/]+)(\/[a-z]+)?$/.exec(path);
  const methods = routes.get(ofSession === null ? path : `/session/{id}${ofSession[2] ?? ""}`);
  if (methods === undefined) return replyError(response, 404, "no such route", listRoutes(routes));
  const method = request.method === "HEAD" && path !== "/stream" ? "GET" : (request.method ?? "");
  const handler = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (handler === undefined) {
    const allow = Object.keys(methods).join(", ");
    if (method !== "OPTIONS") return replyError(response, 405, `${path} takes ${allow}`, "", { allow });
    response.writeHead(204, response.hasHeader("access-control-allow-origin") ? preflightHeaders : { allow });
    return void response.end();
  }
  let sessionId = "";
  try {
    sessionId = decodeURIComponent(ofSession?.[1] ?? "");
  } catch {
    return replyError(response, 400, "the session id in the path is not well encoded");
  }
  return handler(door, request, response, sessionId);
}

export function pathOf(request: IncomingMessage): string {
  const url = request.url ?? "/";
  const end = url.indexOf("?");
  return end === -1 ? url : url.slice(0, end);
}

function metricsRoute(metrics: (() => string) | undefined): Routes {
  if (metrics === undefined) return new Map();
  return new Map([["/metrics", { GET: (door, request, response) => replyMetrics(door, request, response, metrics) }]]);
}

function metadataRoutes(protectedResource: ProtectedResource | undefined): Routes {
  const entries = [...(protectedResource?.paths ?? [])].map(([path, resource]) => {
    const describe: Handler = (_door, request, response) =>
      replyJson(response, 200, protectedResource?.describe(request, resource) ?? {});
    return [path, { GET: describe }] as const;
  });
  return new Map(entries);
}

function listRoutes(routes: Routes): string {
  return [...routes].map(([path, methods]) => `${Object.keys(methods).join("|")} ${path}`).join(", ");
}

function replyReadiness({ isDraining }: Door, _request: IncomingMessage, response: ServerResponse): void {
  if (isDraining) replyJson(response, 503, { status: "draining" });
  else replyJson(response, 200, { status: "ok" });
}
