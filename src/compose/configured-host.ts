// Turns a config into a running host: chooses the stores, the audit file and the plugins.
import { join } from "node:path";
import { builtinPlugins } from "../caps/plugins.generated.ts";
import { concealInError } from "../config/environment.ts";
import { toLimits } from "../config/limits.ts";
import { loadPlugins } from "../config/plugin-loading.ts";
import { toSandboxLimits } from "../config/sandbox.ts";
import type { A2EHostConfig } from "../config/schema.ts";
import { createSqlJournal } from "../durability/journal/sql-journal-store.ts";
import { keepSessions } from "../durability/keep-sessions.ts";
import { A2EHost, type HostOptions } from "../host/host.ts";
import type { SnapshotSchedule, SnapshotStore } from "../host/ports/snapshot-store.ts";
import { type Logger, silentLogger } from "../plugin/logger.ts";
import type { PluginFactory } from "../plugin/plugin.ts";
import type { Database } from "../plugin/ports/database.ts";
import type { Sandboxes } from "../plugin/ports/sandbox.ts";
import { messageOf } from "../protocol/errors.ts";
import { defaultLimits } from "../protocol/limits.ts";
import type { Recordings } from "../recording/recorder.ts";
import { createSandboxes } from "../sandboxes/sandboxes.ts";
import { openKeyFile } from "../stores/files/key-file.ts";
import { type Access, enforcesBudgets, openAccess } from "./access.ts";
import { lockDataFolder, makeDataFolder, makeFolder } from "./data-folder.ts";
import { HostStartError } from "./host-start-error.ts";
import { openAudit } from "./open-audit.ts";
import { withQuotas } from "./quota-seams.ts";
import { openCallSpans } from "./telemetry.ts";

export interface ConfiguredHostOptions {
  log?: Logger;
  /** False for hosts whose sessions cannot be resumed, such as those of a child process: they are not journalled. */
  areSessionsKept?: boolean;
  /** Plugins that a `type` in the config may name without `cls`, beside the built-in plugins. */
  plugins?: Readonly<Record<string, () => Promise<PluginFactory>>>;
  /** Parts that replace those of the config. */
  /** The user who started the host, if its only agent is at the other end of a pipe: it needs no other credential. */
  user?: string;
  parts?: Partial<
    Pick<
      HostOptions,
      | "clock"
      | "nextId"
      | "createSessionId"
      | "authenticate"
      | "snapshots"
      | "audit"
      | "database"
      | "journal"
      | "secrets"
      | "sandboxes"
      | "interceptors"
      | "tap"
    >
  >;
}

/**
 * Starts everything that the config describes, or nothing: if a part fails, the parts before it are closed. Rejects
 * with a PluginLoadError, a HostStartError or another Error that names the part. The host opens no port.
 */
export async function startConfiguredHost(
  config: A2EHostConfig,
  { log = silentLogger, plugins = {}, parts = {}, areSessionsKept = true, user }: ConfiguredHostOptions = {},
): Promise<A2EHost> {
  await makeDataFolder(config.data_dir);
  await makeFolder("workspace_dir", config.workspace_dir);
  const loaded = await loadPlugins(config, { builtin: { ...builtinPlugins, ...plugins }, log });
  const isDurable = config.persistence.enabled && areSessionsKept;
  const limits = { ...defaultLimits, ...toLimits(config.global_limits) };
  const opened: { close(): unknown }[] = [];
  const keep = <Part extends { close(): unknown }>(part: Part): Part => {
    opened.push(part);
    return part;
  };
  try {
    const database = keep(parts.database ?? (await openDatabase(config, isDurable)));
    const snapshots = keep(parts.snapshots ?? (await openSnapshots(config.snapshot_store, log)));
    const audit = keep(parts.audit ?? (await openAudit(config, { database, isDurable, clock: parts.clock, log })));
    const recordings = config.recording.enabled ? keep(await openRecordings(config.recording, log)) : undefined;
    const sandboxes = keep(parts.sandboxes ?? openSandboxes(config));
    const secrets = parts.secrets ?? openKeyFile({ path: join(config.data_dir, "secret.key"), log });
    const spans = config.telemetry.traces ? [await openCallSpans()] : [];
    const access = await openAccess(config, { secrets, limits, log, clock: parts.clock, user });
    if (access !== undefined) keep(access);
    const plain: HostOptions = {
      ...(access === undefined ? {} : toPorts(access, recordings !== undefined)),
      ...parts,
      interceptors: [...(parts.interceptors ?? []), ...spans],
      hostId: config.host_id,
      plugins: loaded,
      isHandshakeRequired: config.handshake.required,
      limits,
      audit,
      auditSessionIdSource: config.audit.session_id_source,
      keeping: keepSessions,
      snapshots,
      snapshotMode: config.snapshot_mode,
      snapshotSchedule: toSchedule(config.snapshot_schedule),
      database,
      secrets,
      sandboxes,
      ...(isDurable ? { journal: parts.journal ?? createSqlJournal(database, limits) } : {}),
      log,
      dataDir: config.data_dir,
      workspaceDir: config.workspace_dir,
    };
    const options = withQuotas(plain, config.quotas, {
      areTokensAccepted: access !== undefined && enforcesBudgets(config),
    });
    if (recordings === undefined) return follow(await A2EHost.start(options), access);
    const replay = async (recording: string) => {
      const { replayConfigured } = await import("./replay.ts");
      return replayConfigured(recording, config, { plugins });
    };
    const { recordHost } = await import("../recording/recorded-host.ts");
    return follow(await A2EHost.start(recordHost(options, { recordings, replay })), access);
  } catch (error) {
    for (const part of opened.reverse()) await closeFailed(part, log);
    concealInError(error, config.variables);
    throw error;
  }
}

/** A recorded session gets no tokens: its answers are in the recording, and a token is a secret. */
function toPorts(
  access: Access,
  isRecorded: boolean,
): Pick<HostOptions, "authenticate" | "authorize" | "mintToken" | "owned"> {
  const { authenticate, authorize, mintToken } = access;
  return { authenticate, authorize, ...(isRecorded ? {} : { mintToken }), owned: [access] };
}

function follow(host: A2EHost, access: Access | undefined): A2EHost {
  access?.follow(host);
  return host;
}

/** The caller should see the first error, so an error while closing is only logged. */
async function closeFailed(part: { close(): unknown }, log: Logger): Promise<void> {
  try {
    await part.close();
  } catch (error) {
    log.error("a part of a host that did not start could not be closed", { error });
  }
}

async function openSnapshots({ type, path }: A2EHostConfig["snapshot_store"], log: Logger): Promise<SnapshotStore> {
  // Each store is loaded only if it is used: SQLite loads native code.
  if (type === "memory" || path === undefined) {
    return (await import("../stores/snapshots/memory-snapshot-store.ts")).createMemorySnapshotStore();
  }
  try {
    if (type === "file") {
      return await (await import("../stores/snapshots/file-snapshot-store.ts")).createFileSnapshotStore({
        dir: path,
        log,
      });
    }
    return await (await import("../stores/snapshots/sqlite-snapshot-store.ts")).createSqliteSnapshotStore({ path });
  } catch (cause) {
    throw new HostStartError(`snapshot_store: ${messageOf(cause)}`, { cause });
  }
}

async function openDatabase({ data_dir, persistence }: A2EHostConfig, isDurable: boolean): Promise<Database> {
  const { createSqliteDatabase } = await import("../stores/sqlite/sqlite-database.ts");
  const path = persistence.enabled ? join(data_dir, "a2e.sqlite") : ":memory:";
  const unlock = isDurable ? await lockDataFolder(data_dir) : () => {};
  try {
    const { durability, sync_interval_ms: syncIntervalMs } = persistence;
    const database = await createSqliteDatabase({ path, durability, syncIntervalMs });
    const close = database.close.bind(database);
    // The last thing a host closes: until then the folder is its own.
    database.close = () => close().finally(unlock);
    return database;
  } catch (cause) {
    unlock();
    throw new HostStartError(messageOf(cause), { cause });
  }
}

/** No sandbox is tested before a plugin asks for one. */
export function openSandboxes({ sandbox, data_dir }: A2EHostConfig): Sandboxes {
  return createSandboxes({
    default: sandbox.default,
    isNetworkAllowed: sandbox.network,
    readable: sandbox.readable,
    // A workspace may be the folder of a project, with the database and the keys of this host in it.
    hidden: [data_dir],
    dockerImage: sandbox.docker_image,
    limits: toSandboxLimits(sandbox.limits),
  });
}

async function openRecordings({ path, max_files }: A2EHostConfig["recording"], log: Logger): Promise<Recordings> {
  const { createRecordingFiles } = await import("../stores/files/recording-files.ts");
  return createRecordingFiles({ folder: path, maxFiles: max_files, log });
}

function toSchedule({ interval_seconds, on_drain, keep }: A2EHostConfig["snapshot_schedule"]): SnapshotSchedule {
  return { everyMs: interval_seconds * 1000, onDrain: on_drain, keep };
}
