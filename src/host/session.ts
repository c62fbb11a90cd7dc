// The API of a session, and of all sessions of a host, for embedders and transports.

import type { SessionIntake } from "../machinery/pacing/session-intake.ts";
import type { SessionInfo } from "../plugin/call-context.ts";
import type { Forking } from "../plugin/plugin.ts";
import type { OutboundLine, Reader } from "./outbound/outbound-log.ts";
import type { DirectEnd } from "./outbound/outbox.ts";
import type { StoredSnapshot } from "./ports/snapshot-store.ts";
import type { RestoreResult, SnapshotResult } from "./session/session-core.ts";
import type { SessionStatus } from "./session/session-life.ts";
import type { PeerBeginning, SessionBeginning } from "./session/session-origin.ts";
import type { StreamOptions } from "./session/session-stream.ts";

/** One agent on a host: its calls, its outgoing lines, the state of its plugins. It outlives its transports. */
export interface Session {
  /** A secret: a peer that has it can act in the session. */
  readonly id: string;
  /** The principal, and the capabilities that were negotiated. */
  readonly info: SessionInfo;
  readonly status: SessionStatus;
  /** How many requests of the agent are running or waiting. */
  readonly pendingCalls: number;
  /** How many transports and streams read the session now. */
  readonly readerCount: number;
  summary(): SessionSummary;
  /** The bearer token of the transport, used if the handshake does not contain a token. */
  bearerToken: string;

  /**
   * Queues the lines that transports receive. They are handled in slices of time, and wait while answers are unread.
   */
  readonly intake: TransportIntake;
  /**
   * True if a handshake is still required. Until then, `maxLinesBeforeHandshake` and `maxBytesBeforeHandshake` apply.
   */
  readonly awaitsHandshake: boolean;
  /** Handles one line of the peer at once. Never throws: every error is sent to the peer. */
  receiveLine(line: string): void;
  /** Handles a message that is an object, not text. The session neither changes nor retains the object. */
  receiveMessage(message: unknown): void;
  /** The transport has skipped a line that was longer than `maxLineBytes`. */
  receiveTooLong(): void;

  /**
   * Reads the outgoing lines after line `from`. Several readers each get all of them. Throws if the session is closed.
   */
  attach(from: number, wake: () => void): Reader;
  /** The same as `attach`, as an async iterator. It ends when the session closes or the signal aborts. */
  stream(options?: StreamOptions): AsyncGenerator<OutboundLine, void>;
  /** Delivers messages to a transport in this process, one transport at a time. The returned function unbinds it. */
  bindTransport(end: DirectEnd): () => void;
  /** The peer has received every line up to `seq`. */
  acknowledge(seq: number): void;
  /** The sequence number of the newest outgoing line. */
  readonly lastSeq: number;
  /** The sequence number of the last line that was sent before this process loaded the session; 0 for a new session. */
  readonly startSeq: number;
  /** Bytes of outgoing lines that no reader has taken. */
  readonly unsentBytes: number;

  /** Cancels a call of the agent; false if no such call is in flight. */
  cancel(callId: string, reason: string): boolean;
  saveSnapshot(label?: string): Promise<SnapshotResult>;
  /** Restores the named snapshot, or the newest snapshot. */
  restoreSnapshot(snapshotId?: string): Promise<RestoreResult>;
  /** Starts a session with a copy of the state of this session. */
  fork(): Promise<{ session: Session; capabilities: Record<string, Forking> }>;
  /** Ends the session after its calls had `drainMs` to finish. If it is called twice, the shorter time counts. */
  close(reason?: string, drainMs?: number): Promise<void>;
  /**
   * Calls the listener when the session is closed, or now if it is closed. The returned function removes the listener.
   */
  onClosed(listener: () => void): () => void;
}

export type TransportIntake = Pick<
  SessionIntake,
  "isFull" | "onceEmpty" | "onceRoom" | "receiveLine" | "receiveMessage" | "receiveText" | "receiveTooLong"
>;

export interface SessionSummary {
  /** Names the session without giving access to it; its id is a secret. */
  handle: string;
  /** The id of its principal; "" on a host without a token. */
  principal: string;
  agent_id: string;
  status: SessionStatus;
  capabilities: string[];
  created_at: number;
  last_active_at: number;
  calls_in_flight: number;
  readers: number;
}

/** The sessions of a host. */
export interface Sessions {
  readonly size: number;
  list(): Session[];
  /** Throws an A2EError if the host has no room. */
  create(beginning?: PeerBeginning): Session;
  /** Finds live sessions only. */
  get(sessionId: string): Session | undefined;
  /**
   * Finds a live session, or recovers it from the journal. Returns a promise only if the journal does. Callers that ask
   * while the session is being recovered all get the same session, in the order of their calls.
   */
  find(sessionId: string): Session | undefined | Promise<Session | undefined>;
  /** Adds a session with a given id and beginning. */
  open(sessionId: string, beginning: SessionBeginning): Session;
  /** Closes a session; false if it does not exist. */
  delete(sessionId: string, reason?: string): Promise<boolean>;
  /**
   * Restores a session that is neither live nor in the journal from a snapshot, by default its newest, under its old
   * id. Its agent must complete a handshake again, as the same principal. Undefined if the session has no snapshot.
   */
  restore(sessionId: string, snapshotId?: string): Promise<Session | undefined>;
  /** Snapshots of a session, live or not; newest first. */
  listSnapshots(sessionId: string): Promise<StoredSnapshot[]>;
}
