// What an embedder and a transport see of a session, and of all sessions of a host.
import type { SessionInfo } from "./call-context.ts";
import type { SessionIntake } from "./intake/session-intake.ts";
import type { OutboundLine, Reader } from "./outbound/outbound-log.ts";
import type { DirectEnd } from "./outbound/outbox.ts";
import type { Forking } from "./plugin.ts";
import type { StoredSnapshot } from "./ports/snapshot-store.ts";
import type { RestoreResult, SnapshotResult } from "./session/session-core.ts";
import type { SessionStatus } from "./session/session-life.ts";
import type { SessionBeginning } from "./session/session-origin.ts";
import type { StreamOptions } from "./session/session-stream.ts";

/** The place of one agent on a host: its calls, its outgoing lines, the state of its plugins. Transports come and go. */
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
  /** The bearer token of the transport, for an agent that does not put one into its handshake. */
  bearerToken: string;

  /** Where transports hand in what the peer sends: it is handled in slices, and waits while answers are unread. */
  readonly intake: TransportIntake;
  /** True until the agent has completed a handshake, in this process or before: its peer may send little. */
  readonly awaitsHandshake: boolean;
  /** Handles one line of the peer at once. Never throws: every error is sent to the peer. */
  receiveLine(line: string): void;
  /** Handles a message that was never text. The message stays the sender's: nothing of it is kept or written to. */
  receiveMessage(message: unknown): void;
  /** The transport has skipped a line that was longer than `maxLineBytes`. */
  receiveTooLong(): void;

  /** Reads the outgoing lines after line `from`. Several readers each get all of them. Throws if the session is closed. */
  attach(from: number, wake: () => void): Reader;
  /** The same as `attach`, as an async iterator. It ends when the session closes or the signal aborts. */
  stream(options?: StreamOptions): AsyncGenerator<OutboundLine, void>;
  /** Delivers messages to a transport of this process; there is one at a time. Returns what unbinds it. */
  bindTransport(end: DirectEnd): () => void;
  /** The peer has every line up to `seq`. */
  acknowledge(seq: number): void;
  /** The number of the newest outgoing line, and of the last one that was sent before this process had the session. */
  readonly lastSeq: number;
  readonly startSeq: number;
  /** Bytes of outgoing lines that no reader has taken. */
  readonly unsentBytes: number;

  /** Cancels a call of the agent; false if no such call is in flight. */
  cancel(callId: string, reason: string): boolean;
  saveSnapshot(label?: string): Promise<SnapshotResult>;
  /** Restores the named snapshot, or the newest one. */
  restoreSnapshot(snapshotId?: string): Promise<RestoreResult>;
  /** Starts a session with a copy of this one's state. */
  fork(): Promise<{ session: Session; capabilities: Record<string, Forking> }>;
  /** Ends the session after its calls had `drainMs` to finish. If it is called twice, the shorter time counts. */
  close(reason?: string, drainMs?: number): Promise<void>;
  /** Calls back once when the session is closed, at once if it is. Returns what removes the listener. */
  onClosed(listener: () => void): () => void;
}

export type TransportIntake = Pick<
  SessionIntake,
  "isFull" | "onceEmpty" | "onceRoom" | "receiveLine" | "receiveMessage" | "receiveText" | "receiveTooLong"
>;

export interface SessionSummary {
  session_id: string;
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
  create(beginning?: Pick<SessionBeginning, "isTransient">): Session;
  /** A session that is live. */
  get(sessionId: string): Session | undefined;
  /**
   * A session that is live, or that the journal has: that one is recovered. Returns a promise only if the journal does.
   * All callers that ask while it is recovered get the same session, in the order in which they asked.
   */
  find(sessionId: string): Session | undefined | Promise<Session | undefined>;
  /** Adds a session under a given id that begins as described. */
  open(sessionId: string, beginning: SessionBeginning): Session;
  /** Ends a session; false if there is none. */
  delete(sessionId: string, reason?: string): Promise<boolean>;
  /**
   * Restores a session that is neither live nor in the journal from a snapshot, by default its newest, under its old id.
   * Its agent must shake hands again, as the principal that owned it. Undefined if there is no snapshot of it.
   */
  restore(sessionId: string, snapshotId?: string): Promise<Session | undefined>;
  /** Snapshots of a session, live or not; newest first. */
  listSnapshots(sessionId: string): Promise<StoredSnapshot[]>;
}
