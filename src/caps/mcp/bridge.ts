// The part of the bridge that all sessions share: the servers of the config, and the environment of every server.

import { AsyncResource } from "node:async_hooks";
import type { PluginContext, SessionContext } from "../../plugin/plugin.ts";
import { ownerOf } from "../../plugin/principal.ts";
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
   * Runs `work` outside of any call, so it is neither audited nor recorded. A server starts and ends on its own
   * schedule; recorded as part of a call, it could not be replayed.
   */
  readonly aside: (work: () => void) => void = AsyncResource.bind((work: () => void) => work());
  /** Servers that every session uses, by id. */
  readonly shared: ReadonlyMap<string, BridgedServer>;
  /** Servers of the config that each session connects to separately. */
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

  /** Reports events of the shared servers to `listener` until the returned function is called. */
  listen(listener: ServerListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * The credentials of a session's agent. They are stored for its next session if the agent is authenticated, and are
   * lost with this session otherwise.
   */
  authorizationOf({ id, principal }: SessionContext["session"]): Authorization {
    const owner = principal.isAuthenticated ? ownerOf(principal) : "";
    if (owner !== "") return this.#createAuthorization(`agent ${owner}`, true);
    return this.#createAuthorization(`session ${id}`, true, createMemoryCredentialStore());
  }

  /**
   * The cache with the last known tools of a session's own server. A program has the same tools for every session that
   * starts it the same way; a remote server may show each agent different tools, so those are cached per owner.
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

/** A host may run without a database; then tokens and tool lists last as long as the process. */
function isUsable(database: PluginContext["database"]): boolean {
  try {
    database.migrate("mcp", []);
    return true;
  } catch {
    return false;
  }
}
