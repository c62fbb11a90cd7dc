// The HTTP door of a host: listens, guards, routes, and closes without leaving anything behind.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { A2EHost } from "../host/host.ts";
import { DrainTime } from "../machinery/pacing/drain-time.ts";
import { A2EError } from "../protocol/errors.ts";
import type { Door } from "./door.ts";
import { type FurtherRoute, toMethods } from "./further-route.ts";
import { replyMetrics } from "./metrics-route.ts";
import { createRefusalReport } from "./refusal-report.ts";
import { replyError, replyJson } from "./reply.ts";
import { createRequestGuard, preflightHeaders } from "./request-guard.ts";
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
import { refusedCertificate } from "./tls/client-certificate.ts";
import { createSecureServer, type TlsOptions } from "./tls/secure-server.ts";
import { createWebSocketDoor } from "./websocket.ts";

export interface ServerOptions {
  /** Address to bind to. */
  host?: string;
  /** 0 takes any free port. */
  port?: number;
  /**
   * Web origins whose pages may use this host from a browser, such as `http://localhost:3000`; `*` for all. By default
   * only pages that the host itself serves: another port is another origin.
   */
  corsOrigins?: readonly string[];
  /** Names under which a server bound to loopback may be addressed besides localhost: those of a reverse proxy. */
  allowedHosts?: readonly string[];
  /** Serves HTTPS and WSS with this certificate, instead of HTTP and WS. */
  tls?: TlsOptions;
  /** How often a silent stream carries a sign of life. */
  keepAliveMs?: number;
  /** The metrics of the host as Prometheus text; served to operators at /metrics. */
  metrics?(): string;
  /** Paths of other protocols. Those of the door itself cannot be taken. */
  routes?: readonly FurtherRoute[];
}

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /**
   * Accepts no new sessions, waits up to `drainMs` until no stream is open, then ends the rest. The caller closes the
   * host at the same time: streams end with their sessions. Calling it twice is allowed; the shorter of both times
   * applies.
   */
  close(drainMs?: number): Promise<void>;
}

type Handler = (
  door: Door,
  request: IncomingMessage,
  response: ServerResponse,
  sessionId: string,
) => void | Promise<void>;

type Routes = ReadonlyMap<string, Readonly<Record<string, Handler>>>;

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

/** When the time is over, sessions that are ending may take this much longer to answer the calls that were cut off. */
const lastWordsMs = 1_000;

function listRoutes(routes: Routes): string {
  return [...routes].map(([path, methods]) => `${Object.keys(methods).join("|")} ${path}`).join(", ");
}

export async function startServer(host: A2EHost, options: ServerOptions = {}): Promise<RunningServer> {
  const { host: boundTo = "127.0.0.1", port = 8765, keepAliveMs = 15_000 } = options;
  const { corsOrigins = [], allowedHosts = [], routes: further = [] } = options;
  const pages = new Set(further.flatMap(({ isPage, paths }) => (isPage === true ? paths : [])));
  // An agent thinks for minutes between two calls; its connection should still be there.
  const settings = { noDelay: true, keepAliveTimeout: 65_000 };
  const secure = options.tls === undefined ? undefined : createSecureServer(options.tls, settings, host.log);
  const server: Server = secure?.server ?? createServer(settings);
  const scheme = secure === undefined ? "http" : "https";
  const guard = createRequestGuard({ boundTo, scheme, corsOrigins, allowedHosts, pages });
  const refuse = (request: IncomingMessage) => guard.refuse(request) ?? refusedCertificate(request);
  const routes: Routes = new Map([
    ...further.flatMap((route) => route.paths.map((path) => [path, toMethods(route)] as const)),
    ...ownRoutes,
    ...metricsRoute(options),
  ]);
  const door: Door = { host, streams: new Set(), keepAliveMs, formatted: new WeakMap(), isDraining: false };
  const webSockets = createWebSocketDoor(door);
  const reportRefusal = createRefusalReport(host.log);

  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { headers } = request;
    const refusal = refuse(request);
    if (refusal !== undefined) reportRefusal(request, refusal);
    if (headers.origin !== undefined) {
      const cors = guard.corsHeaders(headers.origin);
      for (const name in cors) response.setHeader(name, cors[name] as string);
    }
    if (refusal !== undefined) return replyError(response, 403, refusal);
    // Finding a session may mean to recover it, and that may fail.
    const fail = (error: unknown) => replyFailure(door, response, error);
    try {
      const work =
        request.method === "POST" && request.url === "/send"
          ? receiveLines(door, request, response)
          : route(routes, door, request, response);
      if (work instanceof Promise) work.catch(fail);
    } catch (error) {
      fail(error);
    }
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    const refusal = refuse(request);
    if (refusal !== undefined) {
      reportRefusal(request, refusal);
      return refuseRaw(socket, "403 Forbidden", refusal);
    }
    if (pathOf(request) !== "/ws") return refuseRaw(socket, "404 Not Found", "only /ws upgrades");
    webSockets.accept(request, socket, head);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    // The connection was never secure, so no answer can be sent over it.
    if (/^(ERR_SSL|ERR_TLS|EPROTO)/.test(error.code ?? "")) return void socket.destroy();
    const isHuge = error.code === "HPE_HEADER_OVERFLOW";
    refuseRaw(
      socket,
      isHuge ? "431 Request Header Fields Too Large" : "400 Bad Request",
      isHuge ? "headers are too large" : "not HTTP",
    );
  });

  const address = await listen(server, boundTo, port).catch((error: unknown) => {
    secure?.stop();
    throw error;
  });
  const keepAlive = setInterval(() => {
    for (const stream of door.streams) stream.keepAlive();
  }, keepAliveMs).unref();
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;

  let closing: { readonly time: DrainTime; readonly done: Promise<void> } | undefined;
  return {
    url: `${scheme}://${name}:${address.port}`,
    port: address.port,
    close(drainMs = 0) {
      if (closing === undefined) {
        const time = new DrainTime(drainMs);
        closing = { time, done: close(drainMs, time) };
      } else closing.time.shorten(drainMs);
      return closing.done;
    },
  };

  async function close(drainMs: number, time: DrainTime): Promise<void> {
    door.isDraining = true;
    const furtherClosed = Promise.all(further.map((route) => route.close(drainMs)));
    while (door.streams.size > 0 && !time.signal.aborted) await pause();
    time.clear();
    const silentAt = performance.now() + lastWordsMs;
    while (performance.now() < silentAt && [...door.streams].some(({ isEnding }) => isEnding)) await pause();
    clearInterval(keepAlive);
    secure?.stop();
    const isClosed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const stream of [...door.streams]) stream.end();
    await furtherClosed;
    server.closeIdleConnections();
    // The last data is on its way; a reader that does not read it is not waited for.
    const force = setTimeout(() => {
      server.closeAllConnections();
      webSockets.terminate();
    }, 250);
    await Promise.all([isClosed, webSockets.closed()]);
    clearTimeout(force);
  }
}

function metricsRoute({ metrics }: ServerOptions): Routes {
  if (metrics === undefined) return new Map();
  return new Map([["/metrics", { GET: (door, request, response) => replyMetrics(door, request, response, metrics) }]]);
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(explain(error, host, port)));
    server.listen(port, host, () => resolve(server.address() as AddressInfo));
  });
}

function explain(cause: NodeJS.ErrnoException, host: string, port: number): Error {
  const reasons: Record<string, string> = {
    EADDRINUSE: `port ${port} on ${host} is in use: stop the process that listens there, or choose another port (0 takes any free port)`,
    EACCES: `port ${port} may not be opened by this user: choose a port above 1023`,
    EADDRNOTAVAIL: `${host} is not an address of this machine: bind to 127.0.0.1, or to 0.0.0.0 for all`,
    ENOTFOUND: `the name ${host} has no address`,
  };
  return new Error(reasons[cause.code ?? ""] ?? `could not listen on ${host}:${port}: ${cause.message}`, { cause });
}

function route(routes: Routes, door: Door, request: IncomingMessage, response: ServerResponse): void | Promise<void> {
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

function pathOf(request: IncomingMessage): string {
  const url = request.url ?? "/";
  const end = url.indexOf("?");
  return end === -1 ? url : url.slice(0, end);
}

const statusOfCode: Record<string, number> = {
  rate_limited: 503,
  cancelled: 503,
  invalid_message: 400,
  runtime_error: 409,
};

function replyFailure({ host }: Door, response: ServerResponse, error: unknown): void {
  const status = error instanceof A2EError ? statusOfCode[error.code] : undefined;
  if (status !== undefined)
    return replyError(response, status, (error as A2EError).message, "", status === 503 ? { "retry-after": "1" } : {});
  host.log.error("a request failed", { error });
  replyError(response, 500, "the host could not answer; its log says why");
}

function replyReadiness({ isDraining }: Door, _request: IncomingMessage, response: ServerResponse): void {
  if (isDraining) replyJson(response, 503, { status: "draining" });
  else replyJson(response, 200, { status: "ok" });
}

/** For connections that never became a request with a response of its own. */
function refuseRaw(socket: Duplex, status: string, error: string): void {
  if (!socket.writable) return void socket.destroy();
  const body = JSON.stringify({ error });
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
