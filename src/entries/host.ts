// The public subpath `a2e/host`: what plugins are written against, and a host to run them in.
export { type ConfiguredHostOptions, startConfiguredHost } from "../compose/configured-host.ts";
export { type ConfiguredReplayOptions, replayConfigured } from "../compose/replay.ts";
export type { AuditEntry, AuditLog } from "../host/audit.ts";
export type { Authenticate, Credentials } from "../host/authentication.ts";
export type { CallContext, CallOptions, CallOther, SessionInfo } from "../host/call-context.ts";
export { CheckedResult } from "../host/checked-result.ts";
export { loadHostConfig, parseConfigText } from "../host/config/file.ts";
export { toHostConfig } from "../host/config/parsing.ts";
export { loadPlugins, PluginLoadError } from "../host/config/plugin-loading.ts";
export { ConfigError } from "../host/config/problem.ts";
export type { A2EHostConfig, A2EHostConfigInput } from "../host/config/schema.ts";
export type { Database, SqlStatement } from "../host/database.ts";
export { A2EHost, type HostOptions, type PluginEntry } from "../host/host.ts";
export { createLogger, type Logger, silentLogger } from "../host/logger.ts";
export {
  type AskOptions,
  type Handlers,
  type Plugin,
  type PluginContext,
  type PluginFactory,
  plugin,
  type SessionContext,
  type SessionPart,
} from "../host/plugin.ts";
export type { Principal } from "../host/principal.ts";
export type { RecordingFile, Recordings } from "../host/recording/recorder.ts";
export { RecordingError } from "../host/recording/recording.ts";
export { type ReplayOptions, replayRecording } from "../host/recording/replay.ts";
export type { Divergence, ReplayReport } from "../host/recording/replay-report.ts";
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
} from "../host/sandbox.ts";
export type { Secrets } from "../host/secrets.ts";
export type { Session } from "../host/session.ts";
export type { SessionManager } from "../host/session-manager.ts";
export type { SnapshotMode, SnapshotSchedule, SnapshotStore, StoredSnapshot } from "../host/snapshot-store.ts";
export type { CatalogueTool, ToolCatalogue, ToolProblem } from "../host/tool-catalogue.ts";
export type { ToolOutput } from "../host/tool-output.ts";
export { A2EError, fail } from "../protocol/errors.ts";
export { createSandboxes, type SandboxesOptions } from "../sandboxes/sandboxes.ts";
export { createAuditFile } from "../stores/audit-file.ts";
export { createFileSnapshotStore } from "../stores/file-snapshot-store.ts";
export { createMemorySnapshotStore } from "../stores/memory-snapshot-store.ts";
export { createRecordingFiles } from "../stores/recording-files.ts";
export { createSqliteDatabase, type SqliteDatabaseOptions } from "../stores/sqlite-database.ts";
export { createSqliteSnapshotStore } from "../stores/sqlite-snapshot-store.ts";
