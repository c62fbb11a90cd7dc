// The description of a server for agents.

import { cut } from "../problems.ts";
import type { ServerInfo } from "../protocol.ts";
import type { ServerConfig } from "../server-config.ts";
import type { HealthCheck } from "./health-check.ts";
import type { LinkStatus, ServerLink } from "./server-link.ts";

/** The protocol has four words for the status of a server. */
export const shownStatus: Readonly<Record<LinkStatus, string>> = {
  idle: "disconnected",
  connecting: "connecting",
  ready: "ready",
  waiting: "error",
  unauthorized: "error",
  stopped: "disconnected",
};

interface ServerFacts {
  readonly config: ServerConfig;
  readonly link: ServerLink;
  readonly health: HealthCheck;
  readonly counts: { calls: number; failures: number; resources: number; prompts: number; dropped: number };
  readonly inFlight: number;
  readonly toolsCount: number;
  readonly collisions: readonly string[];
  readonly stderr: readonly string[];
  readonly authorizationUrl: string;
}

export function toServerInfo({ config, link, health, counts, ...facts }: ServerFacts): ServerInfo {
  const { connection, status, error, losses } = link;
  const identity = connection?.client.getServerVersion();
  return {
    server_id: config.id,
    name: config.name,
    transport: config.endpoint.transport,
    status: shownStatus[status],
    mcp_version: connection?.version ?? "",
    server_name: cut(identity?.name ?? "", maxNameLength),
    server_version: cut(identity?.version ?? "", maxNameLength),
    tools_count: facts.toolsCount,
    resources_count: counts.resources,
    prompts_count: counts.prompts,
    last_ping_ms: health.lastPingMs,
    error: error === "" ? health.problem : error,
    connected_at: connection === undefined ? 0 : connection.openedAt / 1000,
    scope: config.scope,
    instructions: cut(connection?.client.getInstructions() ?? ""),
    calls: counts.calls,
    failures: counts.failures,
    in_flight: facts.inFlight,
    reconnects: losses,
    dropped_notifications: counts.dropped + (connection?.dropped ?? 0),
    collisions: [...facts.collisions],
    stderr: config.showsStderr ? [...facts.stderr] : [],
    authorization_url: facts.authorizationUrl,
  };
}

const maxNameLength = 200;
