// Data and services that all sessions of one host share, computed once: tables, routes, limits.

import type { Deadlines } from "../machinery/pacing/deadlines.ts";
import type { IntakeSchedule } from "../machinery/pacing/intake-schedule.ts";
import type { Logger } from "../plugin/logger.ts";
import type { LoadedPlugin } from "../plugin/plugin.ts";
import type { Identity, Principal } from "../plugin/principal.ts";
import type { ToolCatalogue } from "../plugin/tool-catalogue.ts";
import type { UsageUnit } from "../plugin/usage.ts";
import type { Limits } from "../protocol/limits.ts";
import type { TypeRegistry } from "../protocol/table/registry.ts";
import type { Authenticate, Authorize, MintToken } from "./authentication.ts";
import type { CallFn } from "./calls/interceptors.ts";
import type { AuditEntry, AuditLog } from "./ports/audit.ts";
import type { Journal } from "./ports/journal.ts";
import type { SnapshotMode, SnapshotSchedule, SnapshotStore } from "./ports/snapshot-store.ts";
import type { Sources } from "./sources.ts";

/** Charges the budgets of a principal; see `Charge` in plugin/usage.ts. */
export type HostCharge = (principal: Principal, unit: UsageUnit, amount: number) => void;

export interface Kernel extends Sources {
  readonly hostId: string;
  /** The name of a session for people, in logs and in the audit log: its id is a secret. */
  readonly handleOf: (sessionId: string) => string;
  /** The audit log names this host instead of the session. */
  readonly isAuditedAsHost: boolean;
  readonly isHandshakeRequired: boolean;
  readonly limits: Limits;
  readonly log: Logger;
  readonly audit: AuditLog;
  /** One object for all audit entries, overwritten for each message: an audit log must not retain it. */
  readonly auditEntry: AuditEntry;
  /** The host is shutting down: sessions whose agent can reconnect remain in the journal. */
  isStopping: boolean;
  readonly deadlines: Deadlines;
  /** Divides the time for received lines among the sessions. */
  readonly intake: IntakeSchedule;
  readonly authenticate: Authenticate;
  /** The rights of a principal, when it is let in and when its session is recovered. */
  readonly authorize: Authorize;
  /** Throws an A2EError if a principal may not begin a session now. */
  readonly admit: ((identity: Identity) => void) | undefined;
  readonly mintToken: MintToken | undefined;
  readonly snapshots: SnapshotStore;
  readonly snapshotMode: SnapshotMode;
  readonly snapshotSchedule: SnapshotSchedule;
  /** Persists sessions; undefined if they end with the process. */
  readonly journal: Journal | undefined;
  readonly tools: ToolCatalogue;
  /** Undefined if nothing is charged. */
  readonly charge: HostCharge | undefined;
  /** The interceptors of the host as one function; undefined if the host has no interceptors. */
  readonly intercept: CallFn | undefined;
  /**
   * Runs `work` in the async context of the host's start, for work that is not done on behalf of the call that runs.
   */
  readonly runApart: <Result>(work: () => Result) => Result;
  readonly registry: TypeRegistry;
  /** The plugins that handle the messages of a capability, in the order in which they are asked. */
  readonly handlersOf: ReadonlyMap<string, readonly LoadedPlugin[]>;
  readonly pluginNames: readonly string[];
}
