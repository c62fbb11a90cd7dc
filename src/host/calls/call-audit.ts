// Writes the audit entries of one session. Every entry goes through `#record`.
import type { SessionInfo } from "../call-context.ts";
import type { Kernel } from "../kernel.ts";
import type { AuditEntry, AuditLog } from "../ports/audit.ts";
import type { ActiveCall } from "./active-call.ts";
import type { Answer } from "./call-table.ts";

/** A message as far as its entry tells of it. */
interface AuditedMessage {
  readonly type: string;
  /** The name of its capability; "" if it is not known. */
  readonly capability: string;
  /** Its id; "" if it had none. */
  readonly id: string;
  readonly bytesIn: number;
}

/** Where the entries go: the host's audit log, or one that waits until the turn of an entry is durable. */
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

  /** A call has ended; `answer` is undefined if none was sent for it. */
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

  /** A message was handled that is not a call: an answer to a question of the host, or a goodbye. */
  handled(now: number, { type, capability, id, bytesIn }: AuditedMessage): void {
    this.#record(this.#begin(now, type, capability, id, bytesIn), "");
  }

  /** A message never became a call and was answered with an error. */
  refused(now: number, { type, capability, id, bytesIn }: AuditedMessage, errorCode: string, answer: Answer): void {
    const entry = this.#begin(now, type, capability, id, bytesIn);
    entry.bytes_out = sizeOf(answer);
    this.#record(entry, errorCode);
  }

  /** All sessions share one entry object: an audit log reads it and does not keep it. */
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
