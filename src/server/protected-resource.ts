// OAuth 2.0 Protected Resource Metadata (RFC 9728): tells clients that have no token where they get one. MCP requires it of
// servers that accept tokens of authorization servers.
import type { IncomingMessage } from "node:http";

export interface ProtectedResourceOptions {
  /** Authorization servers whose tokens the host accepts; at least one. */
  issuers: readonly string[];
  /** Scopes that a client may ask for. */
  scopes?: readonly string[];
}

export interface ProtectedResource {
  /** Paths at which the metadata is served, each with the resource that it describes, relative to the host. */
  readonly paths: ReadonlyMap<string, string>;
  /** The metadata of the host as a whole (""), or of a part of it such as "/mcp". */
  describe(request: IncomingMessage, resource: string): object;
  /** The value of WWW-Authenticate for a request without a valid token. */
  challenge(request: IncomingMessage, resource: string): string;
}

interface Place {
  scheme: "http" | "https";
  /** The address of the host as clients know it, without a slash at the end. */
  publicUrl?: string;
  /** Parts of the host that are resources of their own: "/mcp". */
  resources: readonly string[];
}

const wellKnown = "/.well-known/oauth-protected-resource";

export function createProtectedResource(options: ProtectedResourceOptions, place: Place): ProtectedResource {
  const { issuers, scopes = [] } = options;
  const { scheme, publicUrl, resources } = place;
  // A client compares the resource with the address it has used. Without a public address that is the Host header.
  const baseOf = ({ headers: { host = "localhost" } }: IncomingMessage) => {
    const address = publicUrl ?? `${scheme}://${host}`;
    return new URL(URL.canParse(address) ? address : `${scheme}://localhost`);
  };
  const prefix = publicUrl === undefined ? "" : pathOf(new URL(publicUrl));
  const all = ["", ...resources];
  return {
    // A path in the public address stands behind the well-known one. A proxy may have cut it off before.
    paths: new Map(
      all.flatMap((path) => [`${wellKnown}${path}`, `${wellKnown}${prefix}${path}`].map((at) => [at, path])),
    ),
    describe: (request, resource) => {
      const base = baseOf(request);
      return {
        resource: `${base.origin}${pathOf(base)}${resource}`,
        authorization_servers: issuers,
        ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
        bearer_methods_supported: ["header"],
      };
    },
    challenge: (request, resource) => {
      const base = baseOf(request);
      const url = `${base.origin}${wellKnown}${pathOf(base)}${resource}`;
      const fields = [
        // RFC 6750 wants no error code if the request had no token at all.
        ...(request.headers.authorization === undefined ? [] : ['error="invalid_token"']),
        `resource_metadata="${url}"`,
        ...(scopes.length === 0 ? [] : [`scope="${scopes.join(" ")}"`]),
      ];
      return `Bearer ${fields.join(", ")}`;
    },
  };
}

function pathOf({ pathname }: URL): string {
  return pathname.replace(/\/+$/, "");
}
