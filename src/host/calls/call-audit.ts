// Writes the audit entries of one session.
import type { SessionInfo } from "../../plugin/call-context.ts";
import type { Kernel } from "../kernel.ts";
import type { AuditEntry, AuditLog } from "../ports/audit.ts";
import type { ActiveCall } from "./active-call.ts";
import type { Answer } from "./call-table.ts";

/** The fields of a message that its audit entry contains. */
interface AuditedMessage {
  readonly type: string;
  /** The name of its capability; "" if the type is unknown. */
  readonly capability: string;
  /** Its id; "" if it had none. */
  readonly id: string;
  readonly bytesIn: number;
}

/** The host's audit log, or the wrapper of `audit-after-commit.ts` for sessions with a journal. */
export type CallAuditLog = Pick<AuditLog, "record">;

export class CallAudit {
  readonly #kernel: Kernel;
  readonly #info: SessionInfo;
  readonly #log: CallAuditLog;
  readonly #sessionId: string;

  constructor(kernel: Kernel, info: SessionInfo, log: CallAuditLog = kernel.audit) {
    this.#kernel = kernel;
    this.#info = info;
    this.#log = log;
    this.#sessionId = kernel.auditSessionId(info.id);
  }

  /** Records a call that has ended. `answer` is undefined if no answer was sent. */
  ended(call: ActiveCall, endedAt: number, errorCode: string, answer: Answer | undefined): void {
    const { call: table, capability } = call.entry;
    const entry = this.#begin(endedAt, table.type, capability.name, call.id, call.bytesIn);
    const { correlation_id } = call.request;
    if (typeof correlation_id === "string") entry.correlation_id = correlation_id;
    entry.duration_ms = call.startedAt === 0 ? 0 : endedAt - call.startedAt;
    entry.bytes_out = sizeOf(answer);
    entry.nested_calls = call.nestedCalls;
    this.#record(entry, errorCode);
  }

  /** Records a handled message that is not a call: an answer to a question of the host, or a shutdown. */
  handled(now: number, { type, capability, id, bytesIn }: AuditedMessage): void {
    this.#record(this.#begin(now, type, capability, id, bytesIn), "");
  }

  /** Records a message that was answered with an error before it became a call. */
  refused(now: number, { type, capability, id, bytesIn }: AuditedMessage, errorCode: string, answer: Answer): void {
    const entry = this.#begin(now, type, capability, id, bytesIn);
    entry.bytes_out = sizeOf(answer);
    this.#record(entry, errorCode);
  }

  /** All sessions share one entry object: an audit log must copy the fields that it needs. */
  #begin(ts: number, type: string, capability: string, id: string, bytesIn: number): AuditEntry {
    const entry = this.#kernel.auditEntry;
    entry.ts = ts;
    entry.session_id = this.#sessionId;
    entry.agent_id = this.#info.principal.id;
    entry.type = type;
    entry.capability = capability;
    entry.req_id = id;
    entry.correlation_id = "";
    entry.duration_ms = 0;
    entry.bytes_in = bytesIn;
    entry.bytes_out = 0;
    entry.nested_calls = 0;
    return entry;
  }

  #record(entry: AuditEntry, errorCode: string): void {
    entry.success = errorCode === "";
    entry.error_code = errorCode;
    this.#log.record(entry);
  }
}

function sizeOf(answer: Answer | undefined): number {
  return typeof answer === "string" ? Buffer.byteLength(answer) : 0;
}
