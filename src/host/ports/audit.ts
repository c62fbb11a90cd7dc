// The port for audit entries. An audit log cannot fail a call, and calls do not wait for it, unless it is part of the turn.

/**
 * A handled message, a nested call that failed, or a call that a session made in the background. Nested calls that
 * succeeded have no entry of their own: `nested_calls` of their message counts them.
 */
export interface AuditEntry {
  /** Milliseconds since 1970. */
  ts: number;
  /** The handle of the session, or the id of the host. */
  session_id: string;
  /** The id of the principal; "" on a host without a token, and before a handshake. */
  principal: string;
  /** The ids of the tokens by which the principal came, the root first. */
  chain: readonly string[];
  /** The name that the agent claims. */
  agent_id: string;
  type: string;
  capability: string;
  req_id: string;
  /** Counts the entries of this session from 1, so that a missing entry is noticed. Begins again after a restart. */
  n: number;
  correlation_id: string;
  success: boolean;
  error_code: string;
  duration_ms: number;
  /** Zero for the direct transport, which does not serialise messages. */
  bytes_in: number;
  bytes_out: number;
  /** The number of nested calls, at any depth, that have no entry of their own. */
  nested_calls: number;
  /** The rule that refused a call which was `forbidden`; otherwise "". */
  rule: string;
}

/** Shows that a log only grows. See src/audit. */
export interface AuditProofs {
  /** The newest signed checkpoint as a note, and how many entries it covers; "" before the first. */
  readonly checkpoint: { readonly note: string; readonly size: number };
  /** The hashes by which the newest checkpoint continues the log of `older` entries. Throws if it has fewer. */
  proveConsistency(older: number): Uint8Array[];
}

export interface AuditLog {
  /**
   * True if entries are written with the turn of their answer: `record` is called while the journal writes that turn, and
   * the turn is lost if it throws. Otherwise `record` is called after the turn is durable or lost.
   */
  readonly isWithTurn?: boolean;
  /** Present if the log proves itself. */
  readonly proven?: AuditProofs;
  /** Must return at once. The caller reuses the entry object: copy the fields before returning. */
  record(entry: AuditEntry): void;
  /** Writes all recorded entries. */
  close(): Promise<void>;
}

export const noAudit: AuditLog = { record() {}, async close() {} };
