// The HTTP door of a host: listens, guards, routes, and closes without leaving anything behind.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { A2EHost } from "../host/host.ts";
import { DrainTime } from "../machinery/pacing/drain-time.ts";
import { A2EError } from "../protocol/errors.ts";
import type { Door } from "./door.ts";
import type { FurtherRoute } from "./further-route.ts";
import { createProtectedResource, type ProtectedResourceOptions } from "./protected-resource.ts";
import { createRefusalReport } from "./refusal-report.ts";
import { replyError } from "./reply.ts";
import { createRequestGuard } from "./request-guard.ts";
import { createRoutes, pathOf, route } from "./routes.ts";
import { receiveLines } from "./send-route.ts";
import { refusedCertificate } from "./tls/client-certificate.ts";
import { createSecureServer, type TlsOptions } from "./tls/secure-server.ts";
import { createWebSocketDoor } from "./websocket.ts";
import { WriteRounds } from "./write-rounds.ts";

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
  /**
   * The address of this host as clients know it, if a reverse proxy is in front: `https://agents.example.com`. Its pages
   * are the host's own.
   */
  publicUrl?: string;
  /** Where clients get tokens for this host; served as the metadata of RFC 9728 and named in answers with 401. */
  authorization?: ProtectedResourceOptions;
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

/** When the time is over, sessions that are ending may take this much longer to answer the calls that were cut off. */
const lastWordsMs = 1_000;

export async function startServer(host: A2EHost, options: ServerOptions = {}): Promise<RunningServer> {
  const { host: boundTo = "127.0.0.1", port = 8765, keepAliveMs = 15_000 } = options;
  const { corsOrigins = [], allowedHosts = [], routes: further = [] } = options;
  const pages = new Set(further.flatMap(({ isPage, paths }) => (isPage === true ? paths : [])));
  // An agent thinks for minutes between two calls; its connection should still be there.
  const settings = { noDelay: true, keepAliveTimeout: 65_000 };
  const secure = options.tls === undefined ? undefined : createSecureServer(options.tls, settings, host.log);
  const server: Server = secure?.server ?? createServer(settings);
  const scheme = secure === undefined ? "http" : "https";
  const guard = createRequestGuard({ boundTo, scheme, corsOrigins, ...publicUrlOf(options), allowedHosts, pages });
  const refuse = (request: IncomingMessage) => guard.refuse(request) ?? refusedCertificate(request);
  const resources = further.flatMap(({ resource }) => resource ?? []);
  const protectedResource =
    options.authorization === undefined
      ? undefined
      : createProtectedResource(options.authorization, { scheme, resources, ...publicUrlOf(options) });
  const routes = createRoutes({ further, metrics: options.metrics, protectedResource });
  const door: Door = {
    host,
    streams: new Set(),
    keepAliveMs,
    formatted: new WeakMap(),
    rounds: new WriteRounds(),
    protectedResource,
    isDraining: false,
  };
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

function publicUrlOf({ publicUrl }: ServerOptions): { publicUrl?: string } {
  return publicUrl === undefined ? {} : { publicUrl };
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

const statusOfCode: Record<string, number> = {
  forbidden: 403,
  unauthorized: 401,
  rate_limited: 503,
  cancelled: 503,
  invalid_message: 400,
  runtime_error: 409,
};

/** A principal has used up a limit of its own. Other principals are still served, so it is not a 503 of the host. */
function isOverQuota({ code, detail }: A2EError): boolean {
  return code === "rate_limited" && typeof detail.limit === "string" && detail.limit !== "maxSessions";
}

function replyFailure({ host }: Door, response: ServerResponse, error: unknown): void {
  const status = error instanceof A2EError ? statusOfCode[error.code] : undefined;
  if (error instanceof A2EError && isOverQuota(error)) {
    const seconds = Math.ceil(Number(error.detail.retry_after_ms ?? 1000) / 1000);
    return replyError(response, 429, error.message, "", { "retry-after": `${seconds}` });
  }
  if (status !== undefined)
    return replyError(response, status, (error as A2EError).message, "", status === 503 ? { "retry-after": "1" } : {});
  host.log.error("a request failed", { error });
  replyError(response, 500, "the host could not answer; its log says why");
}

/** For connections that never became a request with a response of its own. */
function refuseRaw(socket: Duplex, status: string, error: string): void {
  if (!socket.writable) return void socket.destroy();
  const body = JSON.stringify({ error });
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
