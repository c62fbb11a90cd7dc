// Keeps web pages out of a host on this machine. A page can make its visitor's browser talk to 127.0.0.1, and with a DNS
// name that changes its address (rebinding) even read the answers; the Host and Origin headers give it away.
import type { IncomingHttpHeaders } from "node:http";

interface GuardOptions {
  /** The address the server is bound to. */
  boundTo: string;
  corsOrigins: readonly string[];
  /** Further names under which a loopback server may be addressed: those of a reverse proxy in front of it. */
  allowedHosts: readonly string[];
}

export interface RequestGuard {
  /** Why this request is refused, or undefined. */
  refuse(headers: IncomingHttpHeaders): string | undefined;
  /** The same for protocols that require every web origin to be checked, even if a token is set. */
  refuseOrigin(headers: IncomingHttpHeaders): string | undefined;
  /** Headers that let this origin read the answer; undefined if it may not. */
  corsHeaders(origin: string): Record<string, string> | undefined;
}

export function createRequestGuard({ boundTo, corsOrigins, allowedHosts }: GuardOptions): RequestGuard {
  const isGuarded = isLoopbackName(boundTo);
  const isOpenToAll = corsOrigins.includes("*");
  const isListed = (origin: string) => isOpenToAll || corsOrigins.includes(origin);
  let lastGoodHost: string | undefined;

  return {
    refuse({ host, origin }) {
      if (!isGuarded) return undefined;
      if (host === undefined || host !== lastGoodHost) {
        const name = hostName(host ?? "");
        if (!isLoopbackName(name) && !allowedHosts.includes(name)) {
          return "this host serves its own machine only: address it as localhost or 127.0.0.1, or list the name in server.allowed_hosts";
        }
        lastGoodHost = host;
      }
      if (origin === undefined || isListed(origin) || isLoopbackName(originName(origin))) return undefined;
      return foreignOrigin;
    },
    refuseOrigin({ host = "", origin }) {
      if (origin === undefined || isListed(origin)) return undefined;
      const name = originName(origin);
      const isOwn = isGuarded ? isLoopbackName(name) : name !== "" && name === hostName(host);
      return isOwn ? undefined : foreignOrigin;
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

const foreignOrigin = "this web origin may not use this host: list it in server.cors.origins";

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

function originName(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).hostname : "";
}
