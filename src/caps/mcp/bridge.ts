// The part of the bridge that all sessions share: the servers of the config, and what every server needs.
import type { PluginContext, SessionContext } from "../../host/plugin.ts";
import { Authorization } from "./authorization/authorization.ts";
import { CallbackServer } from "./authorization/callback-server.ts";
import { createMemoryCredentialStore, openCredentialStore } from "./authorization/credential-store.ts";
import type { BridgeEnvironment } from "./environment.ts";
import type { ServerListener } from "./listening.ts";
import type { ParsedMcpOptions } from "./options.ts";
import { BridgedServer } from "./server.ts";
import type { ServerConfig } from "./server-config.ts";
import { noToolCache, openToolCache } from "./tool-cache.ts";
import { ProcessKeeper } from "./transports/process-keeper.ts";

export class Bridge {
  readonly environment: BridgeEnvironment;
  readonly secrets: PluginContext["secrets"];
  /** Servers that every session uses, by id. */
  readonly shared: ReadonlyMap<string, BridgedServer>;
  /** Servers of the config of which each session has its own. */
  readonly perSession: readonly ServerConfig[];
  readonly #listeners = new Set<ServerListener>();
  readonly #credentials;
  readonly #callbacks: CallbackServer;
  readonly #authorization: Authorization;

  constructor(context: PluginContext, options: ParsedMcpOptions) {
    const { database, secrets, log, clock } = context;
    const hasDatabase = database.isPersistent || isUsable(database);
    this.secrets = secrets;
    this.#credentials = hasDatabase ? openCredentialStore(database, secrets) : createMemoryCredentialStore();
    this.#callbacks = new CallbackServer(options.callback_url, log);
    this.environment = {
      clock,
      log,
      options,
      keeper: new ProcessKeeper(),
      toolCache: hasDatabase ? openToolCache(database) : noToolCache,
    };
    this.#authorization = this.#createAuthorization("host", false);
    const home = {
      environment: this.environment,
      tools: context.tools,
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

  /** The credentials of a session's agent: kept for its next session where it has a name that was checked. */
  authorizationOf({ id, principal }: SessionContext["session"]): Authorization {
    const isKnown = principal.isAuthenticated && principal.id !== "";
    return this.#createAuthorization(isKnown ? `agent ${principal.id}` : `session ${id}`, true);
  }

  async close(): Promise<void> {
    await Promise.all([...this.shared.values()].map((server) => server.close()));
    this.#authorization.close();
    await this.#callbacks.close();
    await this.environment.keeper.close();
  }

  #createAuthorization(owner: string, isAgents: boolean): Authorization {
    const { log } = this.environment;
    return new Authorization({ owner, isAgents, log, store: this.#credentials, callbacks: this.#callbacks });
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
