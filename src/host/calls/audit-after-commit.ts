// Audit entries of a session that has a journal. An entry is recorded once the turn of its answer is durable, so the audit
// log never has a success that the agent was not told of and that a restart does not know.
import type { AuditLog } from "../ports/audit.ts";
import type { JournalledLines } from "../ports/journal.ts";

/** What the audit log has for a call that went well and whose turn was lost. */
const lostCode = "runtime_error";

export function auditAfterCommit(
  audit: Pick<AuditLog, "record">,
  lines: Pick<JournalledLines, "committed">,
): Pick<AuditLog, "record"> {
  return {
    record(entry) {
      // A copy: the entry is filled in anew for the next message.
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
