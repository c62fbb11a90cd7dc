// One server of the bridge: its tools in a catalogue, its requests and notifications for the sessions that use it. A
// slow or broken server delays only its own callers.
import type { ServerCapabilities } from "@modelcontextprotocol/client";
import type { ToolCatalogue } from "../../../plugin/tool-catalogue.ts";
import type { Authorization } from "../authorization/authorization.ts";
import type { BridgeEnvironment } from "../environment.ts";
import type { ServerInfo } from "../protocol.ts";
import type { Redaction } from "../redaction.ts";
import { loadSdk } from "../sdk/sdk.ts";
import type { ServerFault } from "../sdk/sdk-errors.ts";
import { inTime } from "../sdk/within.ts";
import type { ServerConfig } from "../server-config.ts";
import type { TaskPort } from "../tools/task-call.ts";
import type { ToolCache } from "../tools/tool-cache.ts";
import { callTool } from "../tools/tool-call.ts";
import { ToolMirror } from "../tools/tool-mirror.ts";
import { StderrLog } from "../transports/stderr-log.ts";
import { Availability } from "./availability.ts";
import { type Connection, openConnection } from "./connection.ts";
import { Conversation } from "./conversation.ts";
import { Faults } from "./faults.ts";
import { createHealthCheck } from "./health-check.ts";
import type { ServerListener } from "./listening.ts";
import { toServerInfo } from "./server-info.ts";
import { ServerLink } from "./server-link.ts";
import { Subscriptions } from "./subscriptions.ts";
import { patienceOf, synchronize } from "./synchronization.ts";

/** The owner of a server: the host, for all sessions, or a single session. */
export interface ServerHome {
  readonly environment: BridgeEnvironment;
  readonly tools: ToolCatalogue;
  readonly toolCache: ToolCache;
  readonly authorization: Authorization;
  listeners(): Iterable<ServerListener>;
}

/** The session that uses a server, and a signal to stop. */
export interface Caller {
  readonly sessionId: string;
  readonly signal?: AbortSignal;
}

export class BridgedServer {
  readonly config: ServerConfig;
  readonly subscriptions: Subscriptions;
  readonly #home: ServerHome;
  readonly #link: ServerLink;
  readonly #availability: Availability;
  readonly #conversation: Conversation;
  readonly #tools: ToolMirror;
  readonly #stderr: StderrLog;
  readonly #faults: Faults;
  readonly #counts = { calls: 0, failures: 0, resources: 0, prompts: 0, dropped: 0 };
  readonly #health = createHealthCheck(this);

  constructor(config: ServerConfig, home: ServerHome) {
    const { environment, authorization } = home;
    const listeners = () => home.listeners();
    this.config = config;
    this.#home = home;
    this.#faults = new Faults(config, environment.log);
    this.#availability = new Availability({ config, environment, authorization, listeners, link: () => this.#link });
    this.#conversation = new Conversation({
      config,
      environment,
      listeners,
      redact: this.#faults.redact,
      onToolsChanged: () => this.syncSoon(),
    });
    this.#tools = new ToolMirror({
      config,
      environment,
      catalogue: home.tools,
      cache: home.toolCache,
      connection: () => this.#link.connection,
      run: (tool, args, context) => callTool(this, tool, args, context),
      report: (what, error) => this.#faults.report(what, error),
    });
    this.#stderr = new StderrLog({
      redact: this.#faults.redact,
      report: (line) => environment.log.info("mcp server stderr", { server: config.id, line }),
      now: () => environment.clock.now(),
    });
    this.subscriptions = new Subscriptions(config.id, (error) =>
      this.#faults.report("an mcp subscription failed", error),
    );
    this.#link = new ServerLink({
      environment,
      autoReconnect: config.autoReconnect,
      connect: (signal) => this.#connect(signal),
      judge: (cause) => this.#faults.judge(cause),
      onOpen: (connection) => this.#opened(connection),
      onDrop: (connection) => this.#dropped(connection),
      onStatus: (status, error) => this.#availability.tell(status, error),
      isAuthorizing: () => authorization.isAwaiting(config.id),
      unavailable: (retryAfterMs) => this.#availability.toError(retryAfterMs),
    });
    authorization.onAuthorized(config.id, () => this.#link.reopen());
  }

  get environment(): BridgeEnvironment {
    return this.#home.environment;
  }

  get redact(): Redaction {
    return this.#faults.redact;
  }

  get isReady(): boolean {
    return this.#link.connection !== undefined;
  }

  /** False if the server is known to be unusable at present. */
  get canBeReady(): boolean {
    return ["idle", "connecting", "ready"].includes(this.#link.status) && this.#health.problem === "";
  }

  /** The capabilities that the server announced; undefined if it is not connected. */
  get capabilities(): ServerCapabilities | undefined {
    return this.#link.connection?.client.getServerCapabilities();
  }

  get isInUse(): boolean {
    return this.#conversation.callers.count > 0;
  }

  /** Shows the tools from the last connection, or connects in the background to list them. */
  start(): void {
    if (this.#home.environment.isReplay) return;
    const isShown = this.config.isLazy && this.#tools.showRemembered();
    if (!isShown) void this.ready().catch(() => {});
  }

  ready(signal?: AbortSignal): Promise<Connection> {
    return this.#link.ready(signal);
  }

  /** Waits until a lost connection is open again. */
  comeBack(signal: AbortSignal): Promise<Connection> {
    return this.#link.comeBack(signal);
  }

  /** Closes the connection and opens a new one, because the server does not respond. */
  renew(reason: string): void {
    const { connection } = this.#link;
    if (connection !== undefined) this.#link.lose(connection, reason);
  }

  /** Renews a subscription of a restored session: at once, or as soon as the server is connected. */
  watchAgain(uri: string): void {
    const { connection } = this.#link;
    if (this.#home.environment.isReplay) return;
    this.subscriptions.expect(uri);
    if (connection === undefined) void this.ready().catch(() => {});
    else this.subscriptions.tellRest(connection);
  }

  /** Runs `work` with the connection for a caller. Failures are thrown as errors of this protocol. */
  async use<Result>({ sessionId, signal }: Caller, work: (connection: Connection) => Promise<Result>): Promise<Result> {
    this.#counts.calls += 1;
    try {
      const connection = this.#link.connection ?? (await this.#link.ready(signal));
      const end = this.#conversation.callers.begin(sessionId);
      let isAnswered = true;
      try {
        return await work(connection);
      } catch (cause) {
        const fault = signal?.aborted === true ? undefined : this.#handle(cause, connection);
        isAnswered = fault !== undefined && fault.error.code !== "timeout";
        // The server rejected the request before handling it, so a second attempt runs it once.
        if (fault?.connection === "forgotten") return await work(await this.#link.ready(signal));
        throw cause;
      } finally {
        end(isAnswered);
      }
    } catch (cause) {
      this.#counts.failures += 1;
      if (signal?.aborted === true) throw signal.reason;
      const { error, isUnauthorized } = this.#faults.judge(cause);
      throw isUnauthorized ? this.#availability.toError(undefined) : error;
    }
  }

  tasksOf(sessionId: string): Pick<TaskPort, "sdk" | "own" | "answer"> {
    const { sdk } = this.#faults;
    if (sdk === undefined) throw new Error("tasksOf() was called before the first connection");
    return { sdk, ...this.#conversation.tasksOf(sessionId) };
  }

  /** Lists its tools again; repeated requests are merged. */
  syncSoon(): void {
    this.#tools.syncSoon();
  }

  isAnswer(cause: unknown): boolean {
    return this.#faults.isAnswer(cause);
  }

  info(): ServerInfo {
    return toServerInfo({
      config: this.config,
      link: this.#link,
      health: this.#health,
      counts: this.#counts,
      inFlight: this.#conversation.callers.count,
      toolsCount: this.#tools.size,
      collisions: this.#tools.collisions,
      stderr: this.#stderr.lines,
      authorizationUrl: this.#availability.authorizationUrl,
    });
  }

  async close(): Promise<void> {
    this.#tools.clear();
    this.#conversation.stop();
    this.#home.authorization.forget(this.config.id);
    await this.#link.close();
  }

  async #connect(signal: AbortSignal): Promise<Connection> {
    const sdk = await loadSdk();
    this.#faults.sdk = sdk;
    const { environment, authorization } = this.#home;
    const { connect_timeout_ms, max_message_bytes } = environment.options;
    const patienceMs = patienceOf(connect_timeout_ms);
    const connection = await openConnection({
      sdk,
      config: this.config,
      connectTimeoutMs: connect_timeout_ms,
      maxMessageBytes: max_message_bytes,
      stderr: this.#stderr,
      guard: environment.guard,
      fetch: environment.fetch,
      authorization: await authorization.provider(this.config),
      signal,
      now: () => environment.clock.now(),
      prepare: (client) => this.#conversation.attach(client, sdk),
      onDropped: () => this.syncSoon(),
      onError: (error) => this.#faults.report("mcp server", error),
    });
    try {
      const { tools, resources, prompts } = await synchronize(connection, this.config, patienceMs, signal);
      await inTime(this.subscriptions.renew(connection, signal), patienceMs, undefined);
      this.#counts.resources = resources;
      this.#counts.prompts = prompts;
      if (!signal.aborted) this.#tools.learn(tools, connection);
      return connection;
    } catch (error) {
      await connection.close().catch(() => {});
      throw error;
    }
  }

  #opened(connection: Connection): void {
    this.#health.start(connection);
    this.subscriptions.tellRest(connection);
  }

  #dropped(connection: Connection): void {
    this.#counts.dropped += connection.dropped;
    this.#health.stop();
    this.#tools.stop();
    this.#conversation.callers.forgetUnanswered();
  }

  /** Changes the state of the link as the failure requires. */
  #handle(cause: unknown, connection: Connection): ServerFault {
    const fault = this.#faults.judge(cause);
    if (fault.isUnauthorized) this.#link.deny(connection);
    else if (fault.connection === "lost") this.#link.lose(connection, fault.reason);
    else if (fault.connection === "forgotten") this.#link.forget(connection);
    return fault;
  }
}
