// The bridge as one session sees it: the host's servers and its own.
import type { SessionContext } from "../../plugin/plugin.ts";
import { localPrefix } from "../../plugin/session-state.ts";
import { fail } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Authorization } from "./authorization/authorization.ts";
import type { Bridge } from "./bridge.ts";
import { mcpLimits } from "./limits.ts";
import { isUriOnList } from "./patterns.ts";
import { limitReached, registrationForbidden, resourceNotFound, serverNotFound } from "./problems.ts";
import { mcp, type ServerInfo, serverPush } from "./protocol.ts";
import { checkRegistration, parseRegistration, toOwnConfig } from "./registration.ts";
import { within } from "./sdk/within.ts";
import { BridgedServer, type Caller } from "./server/bridged-server.ts";
import type { ServerListener } from "./server/listening.ts";
import type { ServerConfig } from "./server-config.ts";

/**
 * Servers that the session registered: `id` → sealed settings, since they may hold secrets. This key and the next are
 * local: connections are not merged, so a merge must not replace this session's servers by those of a fork.
 */
const registeredKey = `${localPrefix}registered`;
/** `[server_id, uri]` of each subscription. */
const subscribedKey = `${localPrefix}subscribed`;

export class SessionBridge implements ServerListener {
  readonly #bridge: Bridge;
  readonly #context: SessionContext;
  readonly #own = new Map<string, BridgedServer>();
  /** Subscriptions that their server has not confirmed yet. */
  readonly #subscribing = new Map<string, Promise<void>>();
  readonly #authorization: Authorization;
  readonly #stopListening: () => void;

  constructor(bridge: Bridge, context: SessionContext) {
    this.#bridge = bridge;
    this.#context = context;
    this.#authorization = bridge.authorizationOf(context.session);
    this.#stopListening = bridge.listen(this);
    for (const config of bridge.perSession) this.#open(config);
    for (const [id, sealed] of Object.entries(this.#registered())) this.#reopen(id, String(sealed));
    const watched = this.#subscribed();
    bridge.aside(() => {
      for (const server of this.#own.values()) server.start();
      for (const [id, uri] of watched) (this.#own.get(id) ?? bridge.shared.get(id))?.watchAgain(uri);
    });
  }

  get sessionId(): string {
    return this.#context.session.id;
  }

  get ask(): SessionContext["ask"] {
    return (ask, request, options) => this.#context.ask(ask, request, options);
  }

  get servers(): BridgedServer[] {
    return [...this.#bridge.shared.values(), ...this.#own.values()];
  }

  /** Servers that may be able to answer, ready ones first. */
  get usable(): BridgedServer[] {
    const able = this.servers.filter(({ canBeReady }) => canBeReady);
    return [...able.filter(({ isReady }) => isReady), ...able.filter(({ isReady }) => !isReady)];
  }

  push(server_id: string, method: string, params: JsonObject): void {
    this.#context.push(serverPush, { server_id, method, params });
  }

  isSubscribed(serverId: string, uri: string): boolean {
    return this.#subscribed().some(([id, watched]) => id === serverId && watched === uri);
  }

  caller(signal: AbortSignal): Caller {
    return { sessionId: this.sessionId, signal };
  }

  server(id: string): BridgedServer {
    const found = this.#own.get(id) ?? this.#bridge.shared.get(id);
    const known = () => this.servers.map(({ config }) => config.id);
    return found ?? fail(serverNotFound(id, known()));
  }

  async register(given: JsonObject, signal: AbortSignal): Promise<ServerInfo> {
    const { options } = this.#bridge.environment;
    const { id, settings } = parseRegistration(given);
    const config = toOwnConfig(id, settings);
    checkRegistration(config.endpoint, options);
    if (this.#own.has(id) || this.#bridge.shared.has(id))
      throw mcp.error("schema_violation", `config.server_id: a server "${id}" exists already`);
    const { max_servers } = options.registration;
    // Servers that are still being registered count too, or concurrent registrations could exceed the limit.
    if (this.#own.size - this.#bridge.perSession.length >= max_servers)
      throw limitReached("registration.max_servers", max_servers);
    const server = this.#open(config);
    try {
      await server.ready(signal);
    } catch (error) {
      // A server that only waits for its user to authorise stays registered.
      if (this.#authorization.pendingUrlFor(config) === "") {
        this.#own.delete(id);
        await server.close();
        throw error;
      }
    }
    const sealed = this.#bridge.secrets.seal(JSON.stringify(settings), this.#purposeOf(id));
    this.#context.state.set(registeredKey, { ...this.#registered(), [id]: sealed });
    return server.info();
  }

  async unregister(id: string): Promise<void> {
    const server = this.server(id);
    const registered = this.#registered();
    if (!Object.hasOwn(registered, id))
      throw registrationForbidden(`or remove the server "${id}" of its config`, "commands");
    // All changes are made before the close is awaited: meanwhile a server with the same id may be registered.
    const { [id]: _, ...others } = registered;
    this.#own.delete(id);
    this.#context.state.set(registeredKey, others);
    this.#keepSubscriptions((serverId) => serverId !== id);
    await server.close();
  }

  async authorize(id: string, params: URLSearchParams): Promise<ServerInfo> {
    const server = this.server(id);
    if (!this.#own.has(id))
      throw mcp.error("forbidden", `"${id}" is a server of the host: only its operator can authorise it`);
    await this.#authorization.finish(server.config, params);
    return server.info();
  }

  async subscribe(id: string, uri: string, signal: AbortSignal): Promise<void> {
    const server = this.server(id);
    if (!isUriOnList(server.config.resourceAllowList, uri)) throw resourceNotFound(uri, id);
    if (this.isSubscribed(id, uri)) return;
    const key = JSON.stringify([id, uri]);
    if (this.#subscribed().length + this.#subscribing.size >= mcpLimits.maxSubscriptions)
      throw limitReached("maxSubscriptions", mcpLimits.maxSubscriptions);
    const under = this.#subscribing.get(key);
    if (under !== undefined) return within(under, signal);
    const subscribing = server.use(this.caller(signal), (connection) =>
      server.subscriptions.add(uri, connection, signal),
    );
    this.#subscribing.set(key, subscribing);
    try {
      await subscribing;
      this.#context.state.set(subscribedKey, [...this.#subscribed(), [id, uri]]);
    } finally {
      this.#subscribing.delete(key);
    }
  }

  /** The server at which this session watches a resource. */
  watchedAt(uri: string): string | undefined {
    return this.#subscribed().find(([, watched]) => watched === uri)?.[0];
  }

  async unsubscribe(id: string, uri: string, signal: AbortSignal): Promise<void> {
    const server = this.server(id);
    if (!this.isSubscribed(id, uri)) return;
    this.#keepSubscriptions((serverId, watched) => serverId !== id || watched !== uri);
    // The subscription has ended for the agent; if the server cannot be reached, its notifications are ignored.
    await within(this.#endSubscription(server, uri), signal).catch(() => {});
  }

  async close(): Promise<void> {
    this.#stopListening();
    this.#authorization.close();
    const shared = this.#subscribed().filter(([id]) => !this.#own.has(id));
    // A shared server continues without this session, so close() does not wait for it.
    for (const [id, uri] of shared) {
      const server = this.#bridge.shared.get(id);
      if (server !== undefined) void this.#endSubscription(server, uri).catch(() => {});
    }
    let closing: Promise<void>[] = [];
    this.#bridge.aside(() => {
      closing = [...this.#own.values()].map((server) => server.close());
    });
    await Promise.all(closing);
  }

  #open(config: ServerConfig): BridgedServer {
    const server = new BridgedServer(config, {
      environment: this.#bridge.environment,
      tools: this.#context.tools,
      toolCache: this.#bridge.toolCacheFor(config, this.#authorization),
      authorization: this.#authorization,
      listeners: () => [this],
    });
    this.#own.set(config.id, server);
    return server;
  }

  /** Opens the servers of a restored, recovered or forked session, each with a new connection. */
  #reopen(id: string, sealed: string): void {
    const { environment, secrets, shared } = this.#bridge;
    try {
      const text =
        secrets.unseal(sealed, this.#purposeOf(id)) ?? fail(new Error("its settings were sealed with another key"));
      const config = toOwnConfig(id, JSON.parse(text) as JsonObject);
      // The operator may have changed the config since.
      checkRegistration(config.endpoint, environment.options);
      if (this.#own.has(id) || shared.has(id)) throw new Error("the config now has a server with this id");
      this.#open(config);
    } catch (error) {
      environment.log.warn("a registered MCP server is not opened again", { server: id, error });
    }
  }

  async #endSubscription(server: BridgedServer, uri: string): Promise<void> {
    if (!server.isReady) return server.subscriptions.delete(uri, undefined);
    await server.use({ sessionId: this.sessionId }, (connection) => server.subscriptions.delete(uri, connection));
  }

  #registered(): JsonObject {
    return (this.#context.state.get(registeredKey) as JsonObject | undefined) ?? {};
  }

  #subscribed(): [string, string][] {
    return (this.#context.state.get(subscribedKey) as [string, string][] | undefined) ?? [];
  }

  #keepSubscriptions(isKept: (serverId: string, uri: string) => boolean): void {
    const kept = this.#subscribed().filter(([serverId, uri]) => isKept(serverId, uri));
    this.#context.state.set(subscribedKey, kept);
  }

  /** Not bound to the session: a fork, or the same session on another host, must be able to unseal it. */
  #purposeOf(id: string): string {
    return `mcp-server ${id}`;
  }
}
