// The public subpath `a2e/host`: what plugins are written against, and a host to run them in.
export { type ConfiguredHostOptions, startConfiguredHost } from "../compose/configured-host.ts";
export { type ConfiguredReplayOptions, replayConfigured } from "../compose/replay.ts";
export { loadHostConfig, parseConfigText } from "../config/file.ts";
export { toHostConfig } from "../config/parsing.ts";
export { type ConfiguredPlugin, loadPlugins, PluginLoadError } from "../config/plugin-loading.ts";
export type { A2EHostConfig, A2EHostConfigInput } from "../config/schema.ts";
export { createSqlJournal } from "../durability/journal/sql-journal-store.ts";
export { keepSessions } from "../durability/keep-sessions.ts";
export type { Authenticate, Credentials } from "../host/authentication.ts";
export type { CallFn, InterceptedCall, Interceptor } from "../host/calls/interceptors.ts";
export { A2EHost, type HostOptions } from "../host/host.ts";
export type { AuditEntry, AuditLog } from "../host/ports/audit.ts";
export type { Journal } from "../host/ports/journal.ts";
export type { SnapshotMode, SnapshotSchedule, SnapshotStore, StoredSnapshot } from "../host/ports/snapshot-store.ts";
export type { CreateTap, TappedSession } from "../host/session/session-origin.ts";
export type { SessionTap, TapCause } from "../host/session/session-tap.ts";
export type { Session, SessionSummary, Sessions } from "../host/session.ts";
export type { Sources } from "../host/sources.ts";
export { ConfigError } from "../machinery/options/problem.ts";
export type { Deadlines, Expirable } from "../machinery/pacing/deadlines.ts";
export type { CallContext, CallOptions, CallOther, SessionInfo } from "../plugin/call-context.ts";
export { CheckedResult } from "../plugin/checked-result.ts";
export { createLogger, type Logger, silentLogger } from "../plugin/logger.ts";
export {
  type AskOptions,
  type Forking,
  type Handlers,
  type Plugin,
  type PluginContext,
  type PluginFactory,
  plugin,
  type SessionContext,
  type SessionPart,
} from "../plugin/plugin.ts";
export type { PluginEntry } from "../plugin/plugin-set.ts";
export type { Database, SqlStatement } from "../plugin/ports/database.ts";
export type {
  ConfinedCommand,
  Confinement,
  ProcessSandbox,
  Sandbox,
  Sandboxes,
  SandboxLimits,
  SandboxPolicy,
  SandboxReport,
  ScriptRun,
  ScriptSandbox,
} from "../plugin/ports/sandbox.ts";
export type { Secrets } from "../plugin/ports/secrets.ts";
export type { Principal } from "../plugin/principal.ts";
export type { SessionState } from "../plugin/session-state.ts";
export type { CatalogueTool, ToolCatalogue, ToolProblem } from "../plugin/tool-catalogue.ts";
export type { ToolOutput } from "../plugin/tool-output.ts";
export { A2EError, fail } from "../protocol/errors.ts";
export { type RecordHostOptions, recordHost } from "../recording/recorded-host.ts";
export type { RecordingFile, Recordings } from "../recording/recorder.ts";
export { RecordingError } from "../recording/recording.ts";
export { type ReplayOptions, replayRecording } from "../recording/replay.ts";
export type { Divergence, ReplayReport } from "../recording/replay-report.ts";
export { createSandboxes, type SandboxesOptions } from "../sandboxes/sandboxes.ts";
export { createAuditFile } from "../stores/files/audit-file.ts";
export { createRecordingFiles } from "../stores/files/recording-files.ts";
export { createFileSnapshotStore } from "../stores/snapshots/file-snapshot-store.ts";
export { createMemorySnapshotStore } from "../stores/snapshots/memory-snapshot-store.ts";
export { createSqliteSnapshotStore } from "../stores/snapshots/sqlite-snapshot-store.ts";
export { createSqliteDatabase, type SqliteDatabaseOptions } from "../stores/sqlite/sqlite-database.ts";
