// Notifications of a server, and the sessions that they are sent to.
import type { Client } from "@modelcontextprotocol/client";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import type { Coalescing } from "../coalescing.ts";
import type { BridgeEnvironment } from "../environment.ts";
import { type Redaction, redactValue } from "../redaction.ts";
import type { ServerConfig } from "../server-config.ts";
import type { Agent } from "./asks.ts";
import type { Callers } from "./callers.ts";

/** A session that receives the notifications of a server. */
export interface ServerListener extends Agent {
  readonly sessionId: string;
  push(serverId: string, method: string, params: JsonObject): void;
  isSubscribed(serverId: string, uri: string): boolean;
}

export interface ListeningPort {
  readonly config: ServerConfig;
  readonly environment: BridgeEnvironment;
  readonly callers: Callers;
  readonly changes: Coalescing;
  readonly redact: Redaction;
  listeners(): Iterable<ServerListener>;
  onToolsChanged(): void;
}

export function listen(client: Client, port: ListeningPort): void {
  const { environment, changes } = port;
  const { id } = port.config;
  const tellAll = (method: string) =>
    changes.say(method, () => {
      for (const listener of port.listeners()) listener.push(id, method, {});
    });
  client.setNotificationHandler("notifications/tools/list_changed", ({ method }) => {
    port.onToolsChanged();
    tellAll(method);
  });
  client.setNotificationHandler("notifications/resources/list_changed", ({ method }) => tellAll(method));
  client.setNotificationHandler("notifications/prompts/list_changed", ({ method }) => tellAll(method));
  client.setNotificationHandler("notifications/resources/updated", ({ method, params: { uri } }) => {
    const watching = () => [...port.listeners()].filter((listener) => listener.isSubscribed(id, uri));
    // Addresses without subscribers are not remembered, since a server could send any number of them.
    if (watching().length === 0) return;
    changes.say(`${method} ${uri}`, () => {
      for (const listener of watching()) listener.push(id, method, { uri });
    });
  });
  client.setNotificationHandler("notifications/message", ({ method, params: { level, logger = "", data } }) => {
    const entry = redactValue({ level, logger, data: (data ?? null) as JsonValue }, port.redact);
    const listener = soleListener(port);
    if (listener === undefined) environment.log.info("mcp server message", { server: id, ...entry });
    else listener.push(id, method, entry);
  });
  client.setNotificationHandler("notifications/elicitation/complete", ({ method, params: { elicitationId } }) =>
    soleListener(port)?.push(id, method, { elicitation_id: elicitationId }),
  );
}

/**
 * The agent that a message of the server is for: the only agent that the server works for or, if it works for none, the
 * only agent there is. With several agents, a guess could give the data of one to another.
 */
export function soleListener({
  callers,
  listeners,
}: Pick<ListeningPort, "callers" | "listeners">): ServerListener | undefined {
  const busy = callers.sessions();
  if (busy.size > 1) return undefined;
  const all = [...listeners()];
  const [first, second] = busy.size === 0 ? all : all.filter(({ sessionId }) => busy.has(sessionId));
  return second === undefined ? first : undefined;
}
