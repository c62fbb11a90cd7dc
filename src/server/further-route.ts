// Routes that other protocols add to the server: paths of their own behind the same guard and the same token.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { PeerCredentials } from "../host/authentication.ts";
import type { Identity } from "../plugin/principal.ts";
import { credentialsOf, type Door, refuseUnauthorized } from "./door.ts";

/** The peer of a request: its credentials, and the identity that they prove. The token is empty without one. */
export interface RouteCaller extends PeerCredentials {
  readonly identity: Identity;
}

export interface FurtherRoute {
  readonly paths: readonly string[];
  readonly methods: readonly string[];
  /** The path by which it is a resource of its own for OAuth, as in `/mcp`: tokens may be issued for it alone. */
  readonly resource?: string;
  /** Its paths are pages, which people may open by a link of another site. Such a route changes nothing on GET. */
  readonly isPage?: boolean;
  /**
   * Called for requests that the guard accepts and whose credentials are valid.
   */
  handle(request: IncomingMessage, response: ServerResponse, caller: RouteCaller): Promise<void>;
  /** Closes its connections; calls in flight may still finish for `drainMs`. Called once, when the server closes. */
  close(drainMs: number): Promise<void>;
}

/** In the form of the server's own routes: a handler per method. */
export function toMethods(route: FurtherRoute) {
  const handle = async (door: Door, request: IncomingMessage, response: ServerResponse) => {
    const credentials = credentialsOf(request);
    const identity = await door.host.authenticate({ agent_id: "", ...credentials });
    if (identity === undefined) return refuseUnauthorized(door, request, response, route.resource);
    await route.handle(request, response, { ...credentials, identity });
  };
  return Object.fromEntries(route.methods.map((method) => [method, handle]));
}
