// The port with which the kernel saves, restores, forks and merges sessions. Implemented in src/durability.

import type { LayeredState } from "../../machinery/state/layered-state.ts";
import type { Principal } from "../../plugin/principal.ts";
import type { Kernel } from "../kernel.ts";
import type { KeptCalls } from "../session/session-core.ts";
import type { SessionParts } from "../session/session-parts.ts";
import type { SessionRecord } from "../session/session-record.ts";
import type { SessionScope } from "../session/session-scope.ts";
import type { SessionJournal } from "./journal.ts";
import type { SavedSession, StoredSnapshot } from "./snapshot-store.ts";

/** Called once when a host starts. */
export type CreateKeeping = (kernel: Kernel, sessions: OtherSessions) => SessionKeeping;

/** Keeps the sessions of one host. */
export interface SessionKeeping {
  /** Called once for each session. `isKnown` if the session existed before, so that there may be snapshots of it. */
  open(session: KeptSession, isKnown: boolean): KeptEntry;
  /** Sessions that may not be live. */
  readonly stored: StoredSessions;
  /** Saves the sessions that are due. Called every second; must not wait. */
  saveDue(entries: Iterable<KeptEntry>, now: number): void;
  /**
   * The host stops and gives its sessions `drainMs`; if it is called twice, the shorter time counts. The returned function
   * resolves when all writes have ended.
   */
  stop(drainMs: number): () => Promise<void>;
}

export interface StoredSessions {
  /** The named snapshot of a session, or its newest one; undefined if there is none. */
  load(sessionId: string, snapshotId: string): Promise<SavedSession | undefined>;
  /** Newest first. */
  list(sessionId: string): Promise<StoredSnapshot[]>;
  /** These sessions are too old to be recovered: deletes the snapshots that the host took of them. */
  forget(sessionIds: readonly string[]): void;
}

/** The internals of a session that saving and forking use. */
export interface KeptSession {
  readonly scope: SessionScope;
  readonly parts: SessionParts;
  /** Absent if the session ends with the process. */
  readonly journal: SessionJournal | undefined;
  readRecord(): SessionRecord;
}

/** One session in `SessionKeeping`. */
export interface KeptEntry {
  readonly calls: KeptCalls;
  /** Restores a snapshot that was loaded before. */
  restore(saved: SavedSession): Promise<unknown>;
  /** A call of a capability has ended, and may have changed the state of its plugins. */
  changed(): void;
  /** The session closes. Called before its plugins are closed. */
  readonly closing: KeptClosing;
}

export interface KeptClosing {
  /** The host stops: saves the session if `onDrain` is set and the time to drain is not over. */
  leave(): Promise<void>;
  /** The session ends for good: whether its agent has saved it and may restore it later. */
  isRestorable(): boolean | Promise<boolean>;
  /** The session has ended for good: deletes its automatic snapshots. */
  forget(): Promise<void>;
}

/** The other sessions of the host, for forks and merges. */
export interface OtherSessions {
  /** A session that is live or in the journal. */
  find(sessionId: string): KeptSession | undefined | Promise<KeptSession | undefined>;
  /** An id for a fork, valid in this turn. Throws an A2EError if the host or the principal has reached its limit of sessions. */
  createId(principal: Principal): string;
  /** Starts a session with the states of another session, under an id from `createId`. */
  fork(sessionId: string, parent: KeptSession, record: SessionRecord, states: Map<string, LayeredState>): void;
}
