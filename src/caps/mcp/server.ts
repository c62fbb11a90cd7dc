// One server of the bridge: its tools in a catalogue, its requests and notifications for the sessions that use it.
// Whatever it does delays nobody but those who call it.
import type { ServerCapabilities, Tool } from "@modelcontextprotocol/client";
import type { ToolCatalogue } from "../../host/tool-catalogue.ts";
import type { A2EError } from "../../protocol/errors.ts";
import type { Authorization } from "./authorization/authorization.ts";
import { type Connection, openConnection } from "./connection.ts";
import type { BridgeEnvironment } from "./environment.ts";
import { createHealthCheck } from "./health-check.ts";
import { mcpLimits } from "./limits.ts";
import { prepareClient, type ServerListener } from "./listening.ts";
import { cut, serverUnavailable } from "./problems.ts";
import type { ServerInfo } from "./protocol.ts";
import { loadSdk, type Sdk } from "./sdk.ts";
import { toServerFault } from "./sdk-errors.ts";
import { createRedaction, type ServerConfig } from "./server-config.ts";
import { shownStatus, toServerInfo } from "./server-info.ts";
import { type LinkStatus, ServerLink } from "./server-link.ts";
import { ServerTools } from "./server-tools.ts";
import { Subscriptions } from "./subscriptions.ts";
import { synchronize } from "./synchronization.ts";
import { callTool } from "./tool-call.ts";
import { StderrLog } from "./transports/stderr-log.ts";

/** Where a server lives: in the host, for all sessions, or in one of them. */
export interface ServerHome {
  readonly environment: BridgeEnvironment;
  readonly tools: ToolCatalogue;
  readonly authorization: Authorization;
  listeners(): Iterable<ServerListener>;
}

/** Who uses a server, and when to stop. */
export interface Caller {
  readonly sessionId: string;
  readonly signal?: AbortSignal;
}

const maxErrorLength = 1000;

export class BridgedServer {
  readonly config: ServerConfig;
  readonly subscriptions: Subscriptions;
  readonly #home: ServerHome;
  readonly #link: ServerLink;
  readonly #tools: ServerTools;
  readonly #stderr: StderrLog;
  readonly #redact: (text: string) => string;
  readonly #counts = { calls: 0, failures: 0, resources: 0, prompts: 0, dropped: 0 };
  /** Calls under way, by session. */
  readonly #inFlight = new Map<string, number>();
  readonly #health = createHealthCheck(this);
  #sdk: Sdk | undefined;
  #syncTimer: NodeJS.Timeout | undefined;

  constructor(config: ServerConfig, home: ServerHome) {
    const { environment, authorization } = home;
    this.config = config;
    this.#home = home;
    this.#redact = createRedaction(config);
    this.#tools = new ServerTools(config, home.tools, (tool, args, context) => callTool(this, tool, args, context));
    this.#stderr = new StderrLog({
      redact: this.#redact,
      report: (line) => environment.log.info("mcp server stderr", { server: config.id, line }),
      now: () => environment.clock.now(),
    });
    this.subscriptions = new Subscriptions(config.id, (error) => this.#report("an mcp subscription failed", error));
    this.#link = new ServerLink({
      environment,
      autoReconnect: config.autoReconnect,
      connect: (signal) => this.#connect(signal),
      judge: (cause) => this.#judge(cause),
      onOpen: (connection) => this.#health.start(connection),
      onDrop: (connection) => this.#dropped(connection),
      onStatus: (status, error) => this.#tellStatus(status, error),
      unavailable: (retryAfterMs) => this.#unavailable(retryAfterMs),
    });
    authorization.onAuthorized(config.id, () => this.#link.reopen());
  }

  get environment(): BridgeEnvironment {
    return this.#home.environment;
  }

  get isReady(): boolean {
    return this.#link.connection !== undefined;
  }

  /** What it said it can do; undefined where it is not connected. */
  get capabilities(): ServerCapabilities | undefined {
    return this.#link.connection?.client.getServerCapabilities();
  }

  get isInUse(): boolean {
    return this.#inFlight.size > 0;
  }

  /** Shows the tools it had the last time, or else connects, in the background, to learn them. */
  start(): void {
    const cached = this.config.isLazy ? this.environment.toolCache.get(this.config) : undefined;
    if (cached === undefined) void this.ready().catch(() => {});
    else this.#showTools(cached.tools, cached.version);
  }

  ready(signal?: AbortSignal): Promise<Connection> {
    return this.#link.ready(signal);
  }

  /** It is of no use as it is: the connection is ended and opened anew. */
  renew(reason: string): void {
    const { connection } = this.#link;
    if (connection !== undefined) this.#link.lose(connection, reason);
  }

  /** Does something with the connection for a caller. What fails is told as an error of this protocol. */
  async use<Result>({ sessionId, signal }: Caller, work: (connection: Connection) => Promise<Result>): Promise<Result> {
    this.#counts.calls += 1;
    try {
      const connection = this.#link.connection ?? (await this.#link.ready(signal));
      this.#inFlight.set(sessionId, (this.#inFlight.get(sessionId) ?? 0) + 1);
      try {
        return await work(connection);
      } catch (cause) {
        const isForgotten = this.#handle(cause, connection, signal);
        // The server refused before it did anything, so asking again asks once.
        if (isForgotten) return await work(await this.#link.ready(signal));
        throw cause;
      } finally {
        const left = (this.#inFlight.get(sessionId) ?? 1) - 1;
        if (left === 0) this.#inFlight.delete(sessionId);
        else this.#inFlight.set(sessionId, left);
      }
    } catch (cause) {
      this.#counts.failures += 1;
      if (signal?.aborted === true) throw signal.reason;
      const { error, isUnauthorized } = this.#judge(cause);
      throw isUnauthorized ? this.#unavailable(undefined) : error;
    }
  }

  info(): ServerInfo {
    return toServerInfo({
      config: this.config,
      link: this.#link,
      health: this.#health,
      counts: this.#counts,
      inFlight: [...this.#inFlight.values()].reduce((sum, count) => sum + count, 0),
      toolsCount: this.#tools.size,
      collisions: this.#tools.collisions,
      stderr: this.#stderr.lines,
      authorizationUrl: this.#authorizationUrl(),
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#syncTimer);
    this.#tools.clear();
    await this.#link.close();
  }

  async #connect(signal: AbortSignal): Promise<Connection> {
    const sdk = await loadSdk();
    this.#sdk = sdk;
    const { environment, authorization } = this.#home;
    const connection = await openConnection({
      sdk,
      config: this.config,
      connectTimeoutMs: environment.options.connect_timeout_ms,
      maxMessageBytes: environment.options.max_message_bytes,
      stderr: this.#stderr,
      keeper: environment.keeper,
      authorization: await authorization.provider(this.config),
      signal,
      now: () => environment.clock.now(),
      prepare: (client) =>
        prepareClient(client, {
          sdk,
          config: this.config,
          environment,
          busySessions: this.#inFlight,
          listeners: () => this.#home.listeners(),
          onToolsChanged: () => this.syncSoon(),
        }),
      onError: (error) => this.#report("mcp server", error),
    });
    try {
      const { tools, resources, prompts } = await synchronize(connection, this.config, signal);
      await this.subscriptions.renew(connection, signal);
      this.#counts.resources = resources;
      this.#counts.prompts = prompts;
      if (!signal.aborted) this.#learnTools(tools, connection);
      return connection;
    } catch (error) {
      await connection.close().catch(() => {});
      throw error;
    }
  }

  #dropped(connection: Connection): void {
    this.#counts.dropped += connection.dropped;
    this.#health.stop();
    clearTimeout(this.#syncTimer);
  }

  #judge(cause: unknown): { error: A2EError; reason: string; isUnauthorized: boolean; connection: string } {
    if (this.#sdk === undefined) throw cause;
    const fault = toServerFault(cause, this.#sdk, this.config.id, this.#redact);
    return { ...fault, reason: cut(fault.error.message, maxErrorLength) };
  }

  /** Does to the link what a failure calls for; true where the same request may be made again on a new connection. */
  #handle(cause: unknown, connection: Connection, signal: AbortSignal | undefined): boolean {
    if (signal?.aborted === true) return false;
    const { connection: state, isUnauthorized, reason } = this.#judge(cause);
    if (isUnauthorized) this.#link.denied(connection);
    else if (state === "lost") this.#link.lose(connection, reason);
    else if (state === "forgotten") this.#link.forget(connection);
    return state === "forgotten";
  }

  #unavailable(retryAfterMs: number | undefined): A2EError {
    const { status, error } = this.#link;
    const url = this.#authorizationUrl();
    return serverUnavailable(this.config.id, error === "" ? "it was stopped" : error, {
      ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
      ...(status === "unauthorized" ? { authorization: "required" } : {}),
      ...(url === "" ? {} : { authorization_url: url }),
    });
  }

  #authorizationUrl(): string {
    return this.#link.status === "unauthorized" ? this.#home.authorization.pendingUrlFor(this.config) : "";
  }

  #tellStatus(linkStatus: LinkStatus, error: string): void {
    const { id } = this.config;
    const status = shownStatus[linkStatus];
    if (error !== "") this.environment.log.warn("an mcp server is not available", { server: id, reason: error });
    const url = this.#authorizationUrl();
    for (const listener of this.#home.listeners()) {
      listener.push(id, "a2e/status", { status, ...(error === "" ? {} : { error }) });
      if (url !== "") listener.push(id, "a2e/authorization_required", { authorization_url: url });
    }
  }

  /** Lists its tools again, once for all reasons there are to do so. */
  syncSoon(): void {
    // Not put off again: a server that changes without end must not put it off forever.
    this.#syncTimer ??= setTimeout(() => {
      this.#syncTimer = undefined;
      void this.#sync();
    }, mcpLimits.resyncDelayMs).unref();
  }

  async #sync(): Promise<void> {
    const { connection } = this.#link;
    if (connection === undefined) return;
    try {
      const options = { cacheMode: "refresh", timeout: this.environment.options.connect_timeout_ms } as const;
      const { tools } = await connection.client.listTools(undefined, options);
      if (this.#link.connection === connection) this.#learnTools(tools, connection);
    } catch (error) {
      this.#report("the tools of an mcp server could not be listed", error as Error);
    }
  }

  #learnTools(tools: readonly Tool[], { client }: Connection): void {
    const version = client.getServerVersion()?.version ?? "";
    this.#showTools(tools, version);
    this.environment.toolCache.set(this.config, { tools, version });
  }

  #showTools(tools: readonly Tool[], version: string): void {
    this.#tools.update(tools, version);
    const { collisions } = this.#tools;
    if (collisions.length > 0)
      this.environment.log.warn("mcp tools are left out: their names are taken", {
        server: this.config.id,
        collisions,
      });
  }

  #report(what: string, error: Error): void {
    const text = cut(this.#redact(error.message), maxErrorLength);
    this.environment.log.warn(what, { server: this.config.id, error: text });
  }
}
