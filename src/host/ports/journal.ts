// The port for durable sessions. A host without a journal loses its sessions when the process ends.
//
// A session appends its outgoing lines and marks its changes while it runs. At the end of the current turn of the event
// loop the journal collects them and commits them, at once or milliseconds later. A line is not sent before its turn is
// durable, so an agent never receives an answer that a crash could undo.

import type { LayeredState } from "../../machinery/state/layered-state.ts";
import type { SessionRecord } from "../session/session-record.ts";

/** Keeps the sessions of one host. */
export interface Journal {
  /**
   * Begins to journal a session; called once per session object. Without an origin the session is new. With
   * `origin.forkOf` it is a fork: it is committed together with the turn of its parent in which it was made, so either
   * both are durable or neither is, and the answer that names the fork is sent after that. Any other origin was
   * returned by `load`. Throws if the state of the parent cannot be written; the parent is lost then as well.
   */
  open(session: JournalledSession, origin?: SessionOrigin): SessionJournal;
  /**
   * Reads a session as of its last durable turn; undefined if it does not exist, or if it was forgotten, even if that is not
   * durable yet. Called only while no object of this session is open, or after `lost` was called on that object.
   * A rejection means that the session may exist but cannot be read now: the caller may retry.
   */
  load(sessionId: string): SessionOrigin | undefined | Promise<SessionOrigin | undefined>;
  /** Removes the sessions that were created before this moment and are not live. Returns their ids. */
  forgetOlderThan(
    createdBefore: number,
    live: { has(sessionId: string): boolean },
  ): readonly string[] | Promise<readonly string[]>;
  /** Called once by the host, after all sessions have ended: commits pending turns and releases resources. */
  close(): Promise<void>;
}

/** A session that was open before: recovered from the journal, forked from another session, or taken from a recording. */
export interface SessionOrigin {
  readonly record: SessionRecord;
  /** The state of each plugin, by the plugin's name. */
  readonly states: Map<string, LayeredState>;
  /** The newest outgoing lines, consecutive; the last one has the number `lastSeq`. */
  readonly lines: readonly string[];
  readonly lastSeq: number;
  /** The peer has every line up to this number. */
  readonly acknowledged: number;
  /** For a fork on a host with a journal: the journal of the session that it was forked from. */
  readonly forkOf?: SessionJournal;
}

/** The part of a session that a journal uses. A journal never calls it from within a method of `SessionJournal`. */
export interface JournalledSession {
  readonly id: string;
  /** The record as it is now. Called at the end of a turn, if the record is part of it. */
  readRecord(): SessionRecord;
  /** The lines of a turn are durable and may be sent. In the order in which they were appended. */
  released(lines: readonly string[]): void;
  /**
   * A turn could not be made durable, and later turns will not be either. Called at most once; no lines are released
   * afterwards. Lines that were released before are durable.
   */
  lost(error: Error): void;
}

/** One session in the journal. */
export interface SessionJournal {
  readonly lines: JournalledLines;
  /** From now on the changes of this plugin's state are part of the turn in which they happen. */
  track(plugin: string, state: LayeredState): void;
  /** The record has changed. */
  touch(): void;
  /** Removes the session from the journal. Later changes are not written. */
  forget(): void;
}

/** Journals the outgoing lines of one session. */
export interface JournalledLines {
  append(line: string): void;
  /** The length of all lines that were appended and are not durable yet. */
  readonly waitingBytes: number;
  /** The peer has every line up to this number. Committed with the next turn that has lines or changes. */
  acknowledge(seq: number): void;
  /**
   * Calls back once all lines and changes so far are durable, or with an error if they are lost; after the lines of that
   * turn were released. Synchronously if nothing is pending.
   */
  committed(callback: (error?: Error) => void): void;
  /**
   * Calls back while all lines and changes so far are written, so that the writes of the callback are part of the same turn;
   * never if they are lost. If the callback throws, the turn is lost. Synchronously if nothing is pending.
   */
  writtenWith(callback: () => void): void;
}
