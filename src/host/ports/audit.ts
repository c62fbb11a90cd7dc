// The port for audit entries. An audit log cannot fail a call, and calls do not wait for it.
import type { Logger } from "../../plugin/logger.ts";

/**
 * A handled message, a nested call that failed, or a call that a session made in the background. Nested calls that
 * succeeded have no entry of their own: `nested_calls` of their message counts them.
 */
export interface AuditEntry {
  /** Milliseconds since 1970. */
  ts: number;
  session_id: string;
  agent_id: string;
  type: string;
  capability: string;
  req_id: string;
  correlation_id: string;
  success: boolean;
  error_code: string;
  duration_ms: number;
  /** Zero for the direct transport, which does not serialise messages. */
  bytes_in: number;
  bytes_out: number;
  /** The number of nested calls, at any depth, that have no entry of their own. */
  nested_calls: number;
}

/** An empty entry, which `CallAudit` fills in for each message. */
export function createAuditEntry(): AuditEntry {
  return {
    ts: 0,
    session_id: "",
    agent_id: "",
    type: "",
    capability: "",
    req_id: "",
    correlation_id: "",
    success: true,
    error_code: "",
    duration_ms: 0,
    bytes_in: 0,
    bytes_out: 0,
    nested_calls: 0,
  };
}

export interface AuditLog {
  /** Must return at once and must not throw. The caller reuses the entry object: copy the fields before returning. */
  record(entry: AuditEntry): void;
  /** Writes all recorded entries. */
  close(): Promise<void>;
}

export const noAudit: AuditLog = { record() {}, async close() {} };

/** Catches the errors that an audit log throws, and logs the first of them. */
export function guardAudit(audit: AuditLog, log: Logger): AuditLog {
  let isReported = false;
  const report = (error: unknown) => {
    if (!isReported) log.error("the audit log failed", { error });
    isReported = true;
  };
  return {
    record(entry) {
      try {
        audit.record(entry);
      } catch (error) {
        report(error);
      }
    },
    async close() {
      try {
        await audit.close();
      } catch (error) {
        report(error);
      }
    },
  };
}
