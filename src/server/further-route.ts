// Routes that other protocols add to the server: paths of their own behind the same guard and the same token.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { A2EHost } from "../host/host.ts";
import { bearerToken } from "./door.ts";
import { replyError, replyUnauthorized } from "./reply.ts";
import type { RequestGuard } from "./request-guard.ts";

export interface FurtherRoute {
  readonly paths: readonly string[];
  readonly methods: readonly string[];
  /** Whether web pages that are neither the host's own nor listed are refused wherever it listens. */
  readonly isOriginChecked?: boolean;
  /**
   * Called for requests that the guard accepts and whose token is valid; `token` is empty on a host without a token.
   */
  handle(request: IncomingMessage, response: ServerResponse, token: string): Promise<void>;
  /** Closes its connections; calls in flight may still finish for `drainMs`. Called once, when the server closes. */
  close(drainMs: number): Promise<void>;
}

/** In the form of the server's own routes: a handler per method. */
export function toMethods(route: FurtherRoute, guard: RequestGuard) {
  const handle = async ({ host }: { host: A2EHost }, request: IncomingMessage, response: ServerResponse) => {
    const refusal = route.isOriginChecked === true ? guard.refuseOrigin(request.headers) : undefined;
    if (refusal !== undefined) return replyError(response, 403, refusal);
    const token = bearerToken(request.headers.authorization) ?? "";
    if (host.authenticate({ agent_id: "", token }) === undefined) return replyUnauthorized(response);
    await route.handle(request, response, token);
  };
  return Object.fromEntries(route.methods.map((method) => [method, handle]));
}
