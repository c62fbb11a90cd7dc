// What a server says without being asked, and to whom it goes.
import type { Client } from "@modelcontextprotocol/client";
import type { SessionContext } from "../../host/plugin.ts";
import type { JsonObject, JsonValue } from "../../protocol/json.ts";
import { answerAsks } from "./asks.ts";
import type { BridgeEnvironment } from "./environment.ts";
import type { Sdk } from "./sdk.ts";
import type { ServerConfig } from "./server-config.ts";

/** A session that hears of a server. */
export interface ServerListener {
  readonly sessionId: string;
  readonly ask: SessionContext["ask"];
  push(serverId: string, method: string, params: JsonObject): void;
  isSubscribed(serverId: string, uri: string): boolean;
}

export interface ListeningPort {
  readonly sdk: Sdk;
  readonly config: ServerConfig;
  readonly environment: BridgeEnvironment;
  /** Sessions with calls under way. */
  readonly busySessions: ReadonlyMap<string, number>;
  listeners(): Iterable<ServerListener>;
  onToolsChanged(): void;
}

export function prepareClient(client: Client, port: ListeningPort): void {
  const { config, environment } = port;
  const { id } = config;
  const tell = (method: string, params: JsonObject) => {
    for (const listener of port.listeners()) listener.push(id, method, params);
  };
  answerAsks(client, {
    config,
    sdk: port.sdk,
    timeoutMs: environment.options.ask_timeout_ms,
    agent: () => soleListener(port),
    onRefusal: (what, reason) => environment.log.info("an mcp server was refused", { server: id, what, reason }),
  });
  client.setNotificationHandler("notifications/tools/list_changed", ({ method }) => {
    port.onToolsChanged();
    tell(method, {});
  });
  client.setNotificationHandler("notifications/resources/list_changed", ({ method }) => tell(method, {}));
  client.setNotificationHandler("notifications/prompts/list_changed", ({ method }) => tell(method, {}));
  client.setNotificationHandler("notifications/resources/updated", ({ method, params: { uri } }) => {
    for (const listener of port.listeners()) if (listener.isSubscribed(id, uri)) listener.push(id, method, { uri });
  });
  client.setNotificationHandler("notifications/message", ({ method, params: { level, logger = "", data } }) => {
    const entry = { level, logger, data: (data ?? null) as JsonValue };
    const listener = soleListener(port);
    if (listener === undefined) environment.log.info("mcp server message", { server: id, ...entry });
    else listener.push(id, method, entry);
  });
}

/**
 * The one agent that a server can mean: the only one with a call under way or, with none under way, the only one there
 * is. With several, a guess could hand the data of one to another.
 */
function soleListener({ busySessions, listeners }: ListeningPort): ServerListener | undefined {
  if (busySessions.size > 1) return undefined;
  const all = [...listeners()];
  const [first, second] = busySessions.size === 0 ? all : all.filter(({ sessionId }) => busySessions.has(sessionId));
  return second === undefined ? first : undefined;
}
