// Whether a server can be used: as an error for callers, and as pushes to the sessions that listen.
import type { A2EError } from "../../../protocol/errors.ts";
import type { Authorization } from "../authorization/authorization.ts";
import type { BridgeEnvironment } from "../environment.ts";
import { serverUnavailable } from "../problems.ts";
import type { ServerConfig } from "../server-config.ts";
import type { ServerListener } from "./listening.ts";
import { shownStatus } from "./server-info.ts";
import type { LinkStatus } from "./server-link.ts";

export interface AvailabilityPort {
  readonly config: ServerConfig;
  readonly environment: BridgeEnvironment;
  readonly authorization: Authorization;
  readonly link: () => { readonly status: LinkStatus; readonly error: string };
  listeners(): Iterable<ServerListener>;
}

export class Availability {
  readonly #port: AvailabilityPort;

  constructor(port: AvailabilityPort) {
    this.#port = port;
  }

  /** The address that the agent's user has to open; empty if no authorisation is missing. */
  get authorizationUrl(): string {
    const { config, authorization, link } = this.#port;
    return link().status === "unauthorized" ? authorization.pendingUrlFor(config) : "";
  }

  /** The error for callers while the server cannot be used. */
  toError(retryAfterMs: number | undefined): A2EError {
    const { status, error } = this.#port.link();
    const url = this.authorizationUrl;
    return serverUnavailable(this.#port.config.id, error === "" ? "it was stopped" : error, {
      ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
      ...(status === "unauthorized" ? { authorization: "required" } : {}),
      ...(url === "" ? {} : { authorization_url: url }),
    });
  }

  tell(linkStatus: LinkStatus, error: string): void {
    const { config, environment, listeners } = this.#port;
    const { id } = config;
    const status = shownStatus[linkStatus];
    if (error !== "") environment.log.warn("an mcp server is not available", { server: id, reason: error });
    const url = this.authorizationUrl;
    for (const listener of listeners()) {
      listener.push(id, "a2e/status", { status, ...(error === "" ? {} : { error }) });
      if (url !== "") listener.push(id, "a2e/authorization_required", { authorization_url: url });
    }
  }
}
