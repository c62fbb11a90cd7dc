// A host in this process: plugins, sessions, services. It does not listen on a port: src/server does that.
import { AsyncResource } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { closeWithin } from "../machinery/pacing/close-within.ts";
import { createDeadlines, type Deadlines } from "../machinery/pacing/deadlines.ts";
import { IntakeSchedule } from "../machinery/pacing/intake-schedule.ts";
import { warnWhileSlow } from "../machinery/pacing/slow-work.ts";
import { type Logger, silentLogger } from "../plugin/logger.ts";
import type { LoadedPlugin, Plugin } from "../plugin/plugin.ts";
import { type PluginEntry, rankPlugins, registryOf, toLoaded } from "../plugin/plugin-set.ts";
import type { Database } from "../plugin/ports/database.ts";
import { noDatabase } from "../plugin/ports/no-database.ts";
import { noSandboxes, type Sandboxes } from "../plugin/ports/sandbox.ts";
import { createKey, createSecrets, type Secrets } from "../plugin/ports/secrets.ts";
import type { Identity } from "../plugin/principal.ts";
import { ToolCatalogue } from "../plugin/tool-catalogue.ts";
import type { Awaitable } from "../protocol/awaitable.ts";
import { type Clock, createIdSource, type IdSource, systemClock } from "../protocol/envelope.ts";
import { defaultLimits, type Limits } from "../protocol/limits.ts";
import { everything } from "../rights/rights.ts";
import {
  type Authenticate,
  type Authorize,
  type Credentials,
  createTokenAuthentication,
  type MintToken,
} from "./authentication.ts";
import { createAuditEntry, guardAudit } from "./calls/call-audit.ts";
import { composeInterceptors } from "./calls/dispatch.ts";
import type { Interceptor } from "./calls/interceptors.ts";
import type { HostCharge, Kernel } from "./kernel.ts";
import { type AuditLog, noAudit } from "./ports/audit.ts";
import type { Journal } from "./ports/journal.ts";
import type { CreateKeeping } from "./ports/session-keeping.ts";
import { noSchedule, type SnapshotMode, type SnapshotSchedule, type SnapshotStore } from "./ports/snapshot-store.ts";
import { SessionManager } from "./session/session-manager.ts";
import type { CreateTap } from "./session/session-origin.ts";
import type { Sessions } from "./session.ts";

export interface HostOptions {
  hostId?: string;
  plugins?: readonly (Plugin | PluginEntry)[];
  /** Ignored if `authenticate` is set. Without a token, every agent is let in. */
  authToken?: string;
  authenticate?: Authenticate;
  /** The rights of a principal; if it is left out, every principal may make every call. */
  authorize?: Authorize;
  /** Answers session/token/req; without it the call fails. */
  mintToken?: MintToken;
  /**
   * Throws an A2EError if a principal may not begin a session now. A door asks before it creates a session for a peer
   * that shows a credential.
   */
  admit?: (identity: Identity) => void;
  /** Receives the amounts that plugins charge; they charge nothing if it is left out. */
  charge?: HostCharge;
  isHandshakeRequired?: boolean;
  limits?: Partial<Limits>;
  audit?: AuditLog;
  auditSessionIdSource?: "uuid" | "host_id";
  /** Saves, restores and forks sessions: `keepSessions`. */
  keeping: CreateKeeping;
  snapshots: SnapshotStore;
  snapshotMode?: SnapshotMode;
  /** When the host saves sessions by itself; never if it is left out. */
  snapshotSchedule?: SnapshotSchedule;
  /** For plugin data that outlives a session. Plugins that need a database fail to start without it. */
  database?: Database;
  /** Persists every session, so that it survives a restart; closed with the host, before the database. */
  journal?: Journal;
  /** Wrap every admitted call; the first interceptor is the outermost. */
  interceptors?: readonly Interceptor[];
  /** Observes sessions, for example to record them. */
  tap?: CreateTap;
  /** Ends calls that time out; closed with the host. */
  deadlines?: Deadlines;
  /** The tools that every session sees; an empty catalogue if it is left out. */
  toolCatalogue?: ToolCatalogue;
  log?: Logger;
  clock?: Clock;
  nextId?: IdSource;
  random?: () => number;
  createSessionId?: () => string;
  /** Runs untrusted programs in confinement; closed with the host. If it is left out, an attempt to run one fails. */
  sandboxes?: Sandboxes;
  /**
   * Encrypts secrets that plugins store, and gives sessions their handles. If it is left out, each start uses a new key:
   * older secrets are unreadable, and handles change.
   */
  secrets?: Secrets;
  /** Further parts that are closed with the host, after its plugins. */
  owned?: readonly { close(): Awaitable<void> }[];
  /** Folder for files of plugins; `.a2e` if it is left out. */
  dataDir?: string;
  /** The folder that file tools are confined to; the working directory if it is left out. */
  workspaceDir?: string;
}

export class A2EHost {
  readonly hostId: string;
  /** New at each start. A client that sees it change concludes that unanswered requests to the earlier run are lost. */
  readonly bootId = randomUUID();
  readonly limits: Limits;
  readonly sessions: Sessions;
  readonly tools: ToolCatalogue;
  readonly log: Logger;
  readonly plugins: readonly LoadedPlugin[];
  readonly #kernel: Kernel;
  readonly #sessions: SessionManager;
  readonly #database: Database | undefined;
  readonly #sandboxes: Sandboxes;
  readonly #owned: NonNullable<HostOptions["owned"]>;
  #closing: Promise<void> | undefined;

  private constructor(
    kernel: Kernel,
    plugins: readonly LoadedPlugin[],
    { createSessionId = randomUUID, keeping, tap, database, sandboxes = noSandboxes, owned = [] }: HostOptions,
  ) {
    this.#owned = owned;
    this.#kernel = kernel;
    this.#database = database;
    this.#sandboxes = sandboxes;
    this.hostId = kernel.hostId;
    this.limits = kernel.limits;
    this.tools = kernel.tools;
    this.log = kernel.log;
    this.plugins = plugins;
    this.#sessions = new SessionManager(kernel, createSessionId, keeping, tap);
    this.sessions = this.#sessions;
  }

  /**
   * Sets up every plugin. If a plugin fails, the plugins before it are closed, and the error names the failed plugin.
   */
  static async start(options: HostOptions): Promise<A2EHost> {
    const plugins = (options.plugins ?? []).map(toLoaded);
    const names = new Set<string>();
    for (const { name } of plugins) {
      if (names.has(name)) throw new Error(`two plugins are called "${name}"`);
      names.add(name);
    }
    const { sandboxes = noSandboxes, secrets = createSecrets(createKey()) } = options;
    const kernel = createKernel(options, plugins, secrets);
    const database = options.database ?? noDatabase;
    const ready: LoadedPlugin[] = [];
    try {
      for (const loaded of plugins) {
        const work = loaded.plugin.setup?.({
          name: loaded.name,
          dataDir: options.dataDir ?? ".a2e",
          workspaceDir: options.workspaceDir ?? ".",
          log: kernel.log,
          clock: kernel.clock,
          database,
          tools: kernel.tools,
          sandboxes,
          secrets,
          isReplay: false,
        });
        await warnWhileSlow(work, kernel.log, "a plugin takes long to start", { plugin: loaded.name });
        ready.push(loaded);
      }
    } catch (cause) {
      await closePlugins(ready, kernel.log);
      const failed = plugins[ready.length]?.name;
      throw new Error(`plugin "${failed}" failed to start: ${cause instanceof Error ? cause.message : String(cause)}`, {
        cause,
      });
    }
    return new A2EHost(kernel, plugins, options);
  }

  get uptimeSeconds(): number {
    return (this.#kernel.clock.now() - this.#kernel.startedAt) / 1000;
  }

  /** Names of the capabilities that agents can negotiate here. */
  get capabilities(): string[] {
    return [...this.#kernel.handlersOf.keys()];
  }

  /** Returns the identity that the credentials prove; undefined if they are not valid. */
  authenticate(credentials: Credentials): Awaitable<Identity | undefined> {
    return this.#kernel.authenticate(credentials);
  }

  /** Throws an A2EError if the principal may not begin a session now. */
  admit(identity: Identity): void {
    this.#kernel.admit?.(identity);
  }

  /**
   * Lets calls in flight finish for `drainMs`, then closes all sessions, plugins and services. If it is called twice,
   * the shorter time counts.
   */
  close(drainMs: number = this.limits.drainMs): Promise<void> {
    if (this.#closing === undefined) this.#closing = this.#close(drainMs);
    else void this.#sessions.close(drainMs);
    return this.#closing;
  }

  async #close(drainMs: number): Promise<void> {
    this.#kernel.isStopping = true;
    await this.#sessions.close(drainMs);
    await closePlugins(this.plugins, this.log);
    try {
      await this.#sandboxes.close();
    } catch (error) {
      this.log.error("the sandboxes could not close", { error });
    }
    for (const part of this.#owned) {
      try {
        await part.close();
      } catch (error) {
        this.log.error("a part of the host could not close", { error });
      }
    }
    this.#kernel.deadlines.close();
    await this.#kernel.audit.close();
    try {
      await this.#kernel.snapshots.close();
    } catch (error) {
      this.log.error("the snapshot store could not close", { error });
    }
    try {
      await this.#kernel.journal?.close();
    } catch (error) {
      this.log.error("the journal could not close", { error });
    }
    await this.#database?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close(0);
  }
}

function createKernel(options: HostOptions, plugins: readonly LoadedPlugin[], secrets: Secrets): Kernel {
  const clock = options.clock ?? systemClock;
  const hostId = options.hostId ?? "a2e-host";
  const log = options.log ?? silentLogger;
  const limits = { ...defaultLimits, ...options.limits };
  return {
    hostId,
    handleOf: (sessionId) => secrets.handle(sessionId, "session"),
    isAuditedAsHost: options.auditSessionIdSource === "host_id",
    isHandshakeRequired: options.isHandshakeRequired ?? true,
    limits,
    clock,
    nextId: options.nextId ?? createIdSource(),
    random: options.random ?? Math.random,
    log,
    audit: options.audit === undefined ? noAudit : guardAudit(options.audit, log),
    auditEntry: createAuditEntry(),
    isStopping: false,
    deadlines: options.deadlines ?? createDeadlines(log),
    intake: new IntakeSchedule({ limits, clock }),
    authenticate: options.authenticate ?? createTokenAuthentication(options.authToken),
    authorize: options.authorize ?? (() => everything),
    admit: options.admit,
    mintToken: options.mintToken,
    snapshots: options.snapshots,
    snapshotMode: options.snapshotMode ?? "hybrid",
    snapshotSchedule: options.snapshotSchedule ?? noSchedule,
    journal: options.journal,
    tools: options.toolCatalogue ?? new ToolCatalogue(),
    charge: options.charge,
    intercept: composeInterceptors(options.interceptors),
    runApart: AsyncResource.bind(runNow) as Kernel["runApart"],
    startedAt: clock.now(),
    registry: registryOf(plugins),
    handlersOf: rankPlugins(plugins),
    pluginNames: plugins.map(({ name }) => name),
  };
}

function runNow<Result>(work: () => Result): Result {
  return work();
}

async function closePlugins(plugins: readonly LoadedPlugin[], log: Logger): Promise<void> {
  for (const { name, plugin } of plugins.toReversed()) {
    try {
      await closeWithin(() => plugin.close?.());
    } catch (error) {
      log.error("a plugin could not close", { plugin: name, error });
    }
  }
}
