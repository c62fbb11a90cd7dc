// Routes that other protocols add to the server: paths of their own behind the same guard and the same token.
import type { IncomingMessage, ServerResponse } from "node:http";
import { credentialsOf, type Door, refuseUnauthorized } from "./door.ts";

export interface FurtherRoute {
  readonly paths: readonly string[];
  readonly methods: readonly string[];
  /** The path by which it is a resource of its own for OAuth, as in `/mcp`: tokens may be issued for it alone. */
  readonly resource?: string;
  /** Its paths are pages, which people may open by a link of another site. Such a route changes nothing on GET. */
  readonly isPage?: boolean;
  /**
   * Called for requests that the guard accepts and whose token is valid; `token` is empty on a host without a token.
   */
  handle(request: IncomingMessage, response: ServerResponse, token: string): Promise<void>;
  /** Closes its connections; calls in flight may still finish for `drainMs`. Called once, when the server closes. */
  close(drainMs: number): Promise<void>;
}

/** In the form of the server's own routes: a handler per method. */
export function toMethods(route: FurtherRoute) {
  const handle = async (door: Door, request: IncomingMessage, response: ServerResponse) => {
    const credentials = credentialsOf(request);
    if ((await door.host.authenticate({ agent_id: "", ...credentials })) === undefined)
      return refuseUnauthorized(door, request, response, route.resource);
    await route.handle(request, response, credentials.token);
  };
  return Object.fromEntries(route.methods.map((method) => [method, handle]));
}
