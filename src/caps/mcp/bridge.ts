// The part of the bridge that all sessions share: the servers of the config, and what every server needs.
import { AsyncResource } from "node:async_hooks";
import type { PluginContext, SessionContext } from "../../host/plugin.ts";
import { Authorization } from "./authorization/authorization.ts";
import { CallbackServer } from "./authorization/callback-server.ts";
import { coalesceRefreshes } from "./authorization/coalesced-fetch.ts";
import {
  type CredentialStore,
  createMemoryCredentialStore,
  openCredentialStore,
} from "./authorization/credential-store.ts";
import type { BridgeEnvironment } from "./environment.ts";
import type { ParsedMcpOptions } from "./options.ts";
import { BridgedServer } from "./server/bridged-server.ts";
import type { ServerListener } from "./server/listening.ts";
import type { ServerConfig } from "./server-config.ts";
import { AgentToolCache, noToolCache, openToolCache, type ToolCache } from "./tools/tool-cache.ts";
import { limitBodies } from "./transports/limited-fetch.ts";
import { createServerGuard } from "./transports/server-guard.ts";

export class Bridge {
  readonly environment: BridgeEnvironment;
  readonly secrets: PluginContext["secrets"];
  /**
   * Runs something in nobody's name. What servers do is not said by the request that starts or ends them, and a recording
   * that had it so would be replayed in vain.
   */
  readonly aside: (work: () => void) => void = AsyncResource.bind((work: () => void) => work());
  /** Servers that every session uses, by id. */
  readonly shared: ReadonlyMap<string, BridgedServer>;
  /** Servers of the config of which each session has its own. */
  readonly perSession: readonly ServerConfig[];
  readonly #configTools: ToolCache;
  readonly #agentTools = new AgentToolCache();
  readonly #listeners = new Set<ServerListener>();
  readonly #credentials: CredentialStore;
  readonly #callbacks: CallbackServer;
  readonly #authorization: Authorization;

  constructor(context: PluginContext, options: ParsedMcpOptions) {
    const { database, secrets, log, clock, isReplay } = context;
    const hasDatabase = database.isPersistent || isUsable(database);
    this.secrets = secrets;
    this.#credentials = hasDatabase ? openCredentialStore(database, secrets) : createMemoryCredentialStore();
    this.#callbacks = new CallbackServer(options.callback_url, log);
    this.environment = {
      clock,
      log,
      options,
      guard: createServerGuard(),
      isReplay,
      fetch: coalesceRefreshes(limitBodies(options.max_message_bytes)),
    };
    this.#configTools = hasDatabase ? openToolCache(database) : noToolCache;
    this.#authorization = this.#createAuthorization("host", false);
    const home = {
      environment: this.environment,
      tools: context.tools,
      toolCache: this.#configTools,
      authorization: this.#authorization,
      listeners: () => this.#listeners,
    };
    const shared = options.servers.filter(({ scope }) => scope === "shared");
    this.shared = new Map(shared.map((config) => [config.id, new BridgedServer(config, home)]));
    this.perSession = options.servers.filter(({ scope }) => scope === "session");
  }

  start(): void {
    for (const server of this.shared.values()) server.start();
  }

  /** A session begins to hear of the shared servers, until the returned function is called. */
  listen(listener: ServerListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * The credentials of a session's agent: kept for its next session where it has a name that was checked, and else gone
   * with this one.
   */
  authorizationOf({ id, principal }: SessionContext["session"]): Authorization {
    const isKnown = principal.isAuthenticated && principal.id !== "";
    if (isKnown) return this.#createAuthorization(`agent ${principal.id}`, true);
    return this.#createAuthorization(`session ${id}`, true, createMemoryCredentialStore());
  }

  /**
   * The tools that a session's own server had the last time. A program has the same for all who start it in the same way;
   * what a server elsewhere shows to one agent is that agent's alone.
   */
  toolCacheFor(config: ServerConfig, { owner }: Authorization): ToolCache {
    const isProgram = config.endpoint.transport === "stdio";
    if (isProgram && this.perSession.includes(config)) return this.#configTools;
    return this.#agentTools.of(isProgram ? "agents" : owner);
  }

  async close(): Promise<void> {
    await Promise.all([...this.shared.values()].map((server) => server.close()));
    this.#authorization.close();
    await this.#callbacks.close();
    await this.environment.guard.close();
  }

  #createAuthorization(owner: string, isAgents: boolean, store = this.#credentials): Authorization {
    const { log, fetch } = this.environment;
    return new Authorization({ owner, isAgents, log, fetch, store, callbacks: this.#callbacks });
  }
}

/** A host may have been started without a database: then tokens and lists of tools last as long as it does. */
function isUsable(database: PluginContext["database"]): boolean {
  try {
    database.migrate("mcp", []);
    return true;
  } catch {
    return false;
  }
}
