// Audit entries of a session that has a journal. An entry is recorded once the turn of its answer is durable. So the audit
// log never reports a success whose answer was not sent and whose changes are lost after a restart.
import type { AuditLog } from "../ports/audit.ts";
import type { JournalledLines } from "../ports/journal.ts";

/** The error code in the audit log of a call that succeeded but whose turn could not be made durable. */
const lostCode = "runtime_error";

export function auditAfterCommit(
  audit: Pick<AuditLog, "record">,
  lines: Pick<JournalledLines, "committed">,
): Pick<AuditLog, "record"> {
  return {
    record(entry) {
      // A copy: CallAudit reuses the entry object for the next message.
      const kept = { ...entry };
      lines.committed((error) => {
        if (error !== undefined && kept.success) {
          kept.success = false;
          kept.error_code = lostCode;
        }
        audit.record(kept);
      });
    },
  };
}
