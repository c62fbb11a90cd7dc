// Keeps web pages out of a host. A page can make its visitor's browser talk to 127.0.0.1, and with a DNS name that changes
// its address (rebinding) even read the answers. Browsers give it away by the headers Host, Origin and Sec-Fetch-Site,
// which a page cannot set. WebSockets are not subject to CORS, so the Origin is all that stops them.
import type { IncomingMessage } from "node:http";

interface GuardOptions {
  /** The address the server is bound to. */
  boundTo: string;
  scheme: "http" | "https";
  corsOrigins: readonly string[];
  /** The address of the host behind a reverse proxy, which may have another scheme and port. */
  publicUrl?: string;
  /** Further names under which a loopback server may be addressed: those of a reverse proxy in front of it. */
  allowedHosts: readonly string[];
  /** Paths of pages that people open by a link of another site. */
  pages?: ReadonlySet<string>;
}

export type GuardedRequest = Pick<IncomingMessage, "headers" | "method" | "url">;

export interface RequestGuard {
  /** Why this request is refused, or undefined. */
  refuse(request: GuardedRequest): string | undefined;
  /** Headers that let this origin read the answer; undefined if it may not. */
  corsHeaders(origin: string): Record<string, string> | undefined;
}

export function createRequestGuard(options: GuardOptions): RequestGuard {
  const { boundTo, scheme, corsOrigins, publicUrl, allowedHosts, pages = new Set() } = options;
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  const isOnLoopback = isLoopbackName(boundTo);
  const isOpenToAll = corsOrigins.includes("*");
  const isListed = (origin: string) => isOpenToAll || corsOrigins.includes(origin);
  let lastGoodHost: string | undefined;

  return {
    refuse(request) {
      const { host, origin, "sec-fetch-site": site } = request.headers;
      if (isOnLoopback && (host === undefined || host !== lastGoodHost)) {
        const name = hostName(host ?? "");
        if (!isLoopbackName(name) && !allowedHosts.includes(name)) return foreignHost;
        lastGoodHost = host;
      }
      // Most requests are not made by a browser.
      if (origin === undefined && site === undefined) return undefined;
      if (isOpenToAll || (origin !== undefined && isListed(origin))) return undefined;
      if (origin !== undefined && origin !== publicOrigin && origin !== ownOrigin(scheme, host))
        return foreignOrigin(origin);
      const isForeignSite = site === "cross-site" || site === "same-site";
      return isForeignSite && !isVisit(request, pages) ? foreignSite : undefined;
    },
    corsHeaders(origin) {
      if (!isListed(origin)) return undefined;
      return {
        "access-control-allow-origin": isOpenToAll ? "*" : origin,
        "access-control-expose-headers":
          "Last-Event-ID, A2E-Boot, A2E-Keep-Alive, Retry-After, Mcp-Session-Id, Mcp-Protocol-Version",
        vary: "Origin",
      };
    },
  };
}

const foreignHost =
  "this host serves its own machine only: address it as localhost or 127.0.0.1, or list the name in server.allowed_hosts";

const foreignSite =
  "a page of another origin made this request: list the origin of the page in server.cors.origins, and call the host with fetch() in its default mode";

function foreignOrigin(origin: string): string {
  if (!URL.canParse(origin))
    return "this page has no web origin (a file or a sandboxed frame): serve it over http and list its origin in server.cors.origins";
  return `pages of ${origin} may not use this host: list "${origin}" in server.cors.origins`;
}

export const preflightHeaders = {
  "access-control-allow-methods": "GET, POST, DELETE",
  "access-control-allow-headers":
    "Authorization, Content-Type, Last-Event-ID, A2E-Boot, X-Session-Id, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name",
  "access-control-max-age": "600",
};

export function isLoopbackName(name: string): boolean {
  return name === "localhost" || name === "::1" || name === "[::1]" || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(name);
}

function hostName(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}

/**
 * The origin of a page that was loaded from this Host, in the spelling of browsers: without the default port of the
 * scheme. Another port of the same machine is another origin, and maybe another user's.
 */
function ownOrigin(scheme: string, host: string | undefined): string | undefined {
  const address = `${scheme}://${host}`;
  return host !== undefined && URL.canParse(address) ? new URL(address).origin : undefined;
}

/** A person follows a link to a page: the linking page cannot read the answer, nor choose headers or a body. */
function isVisit({ method, url = "/", headers }: GuardedRequest, pages: ReadonlySet<string>): boolean {
  return (
    (method === "GET" || method === "HEAD") &&
    headers["sec-fetch-mode"] === "navigate" &&
    headers["sec-fetch-dest"] === "document" &&
    pages.has(url.split("?", 1)[0] as string)
  );
}
