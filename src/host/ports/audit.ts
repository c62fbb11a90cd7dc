// The port for audit entries. An audit log never fails a call and is never waited for.
import type { Logger } from "../logger.ts";

/**
 * One handled message; or a call that was made within one and failed, or that a session made in the background. Calls
 * within a message that went well are counted in its entry.
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
  /** Zero where nothing was serialised: the direct transport. */
  bytes_in: number;
  bytes_out: number;
  /** Calls that were made within this one, at any depth, and have no entry of their own. */
  nested_calls: number;
}

/** What executors fill in for each message. */
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
  /** Takes the entry and returns at once; must not throw. The entry is not kept: read it now. */
  record(entry: AuditEntry): void;
  /** Writes what was taken. */
  close(): Promise<void>;
}

export const noAudit: AuditLog = { record() {}, async close() {} };

/** Holds an audit log to its contract, whoever wrote it: what it throws is reported once and fails nothing. */
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
