// What other protocols may add to the door: paths of their own behind the same guard and the same token.
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
  /** Called for requests that the guard has let in and whose token the host knows; empty on a host without one. */
  handle(request: IncomingMessage, response: ServerResponse, token: string): Promise<void>;
  /** Ends what it has open; calls in flight may still finish for `drainMs`. Called once, when the server closes. */
  close(drainMs: number): Promise<void>;
}

/** As the door's own routes are: one handler per method. */
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
