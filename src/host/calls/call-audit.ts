// Writes the audit entries of one session.
//
// If the session has a journal, an entry is recorded with the turn of its answer (`isWithTurn`), or once that turn is
// durable. So the audit log never reports a success whose answer was not sent and whose changes are lost after a restart.
import type { SessionInfo } from "../../plugin/call-context.ts";
import type { A2EError } from "../../protocol/errors.ts";
import type { Kernel } from "../kernel.ts";
import { type AuditEntry, type AuditLog, noAudit } from "../ports/audit.ts";
import type { JournalledLines } from "../ports/journal.ts";
import type { ActiveCall } from "./active-call.ts";
import type { Answer } from "./call-table.ts";
import { ForbiddenError } from "./gate.ts";

/** The fields of a message that its audit entry contains. */
interface AuditedMessage {
  readonly type: string;
  /** The name of its capability; "" if the type is unknown. */
  readonly capability: string;
  /** Its id; "" if it had none. */
  readonly id: string;
  readonly bytesIn: number;
}

type AuditedLines = Pick<JournalledLines, "committed" | "writtenWith">;

const noChain: readonly string[] = [];

/** The error code in the audit log of a call that succeeded but whose turn could not be made durable. */
const lostCode = "runtime_error";

export class CallAudit {
  readonly #kernel: Pick<Kernel, "audit" | "auditEntry">;
  readonly #info: Required<SessionInfo>;
  readonly #lines: AuditedLines | undefined;
  readonly #asHost: string | undefined;
  #count = 0;

  constructor(
    kernel: Pick<Kernel, "audit" | "auditEntry" | "isAuditedAsHost" | "hostId">,
    info: Required<SessionInfo>,
    lines: AuditedLines | undefined,
  ) {
    this.#kernel = kernel;
    this.#info = info;
    this.#lines = kernel.audit === noAudit ? undefined : lines;
    this.#asHost = kernel.isAuditedAsHost ? kernel.hostId : undefined;
  }

  /** Records a call that has ended. `answer` is undefined if no answer was sent. */
  ended(call: ActiveCall, endedAt: number, errorCode: string, answer: Answer | undefined): void {
    if (this.#kernel.audit === noAudit) return;
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
    if (this.#kernel.audit === noAudit) return;
    this.#record(this.#begin(now, type, capability, id, bytesIn), "");
  }

  /** Records a message that was answered with an error before it became a call. */
  refused(now: number, about: AuditedMessage, error: A2EError, answer: Answer | undefined): void {
    if (this.#kernel.audit === noAudit) return;
    const entry = this.#begin(now, about.type, about.capability, about.id, about.bytesIn);
    entry.bytes_out = sizeOf(answer);
    if (error instanceof ForbiddenError) entry.rule = error.rule;
    this.#record(entry, error.code);
  }

  /** For the last message of the session: an agent can count its entries. Empty if the log does not prove itself. */
  report(): { audit?: { n: number; checkpoint: string } } {
    const { proven } = this.#kernel.audit;
    return proven === undefined ? {} : { audit: { n: this.#count, checkpoint: proven.checkpoint.note } };
  }

  /** All sessions share one entry object: an audit log must copy the fields that it needs. */
  #begin(ts: number, type: string, capability: string, id: string, bytesIn: number): AuditEntry {
    const entry = this.#kernel.auditEntry;
    entry.ts = ts;
    entry.session_id = this.#asHost ?? this.#info.handle;
    const { id: principal, chain = noChain } = this.#info.principal;
    entry.principal = principal;
    entry.chain = chain;
    entry.agent_id = this.#info.principal.agentId;
    entry.type = type;
    entry.capability = capability;
    entry.req_id = id;
    this.#count += 1;
    entry.n = this.#count;
    entry.correlation_id = "";
    entry.duration_ms = 0;
    entry.bytes_in = bytesIn;
    entry.bytes_out = 0;
    entry.nested_calls = 0;
    entry.rule = "";
    return entry;
  }

  #record(entry: AuditEntry, errorCode: string): void {
    entry.success = errorCode === "";
    entry.error_code = errorCode;
    if (this.#lines === undefined) return this.#kernel.audit.record(entry);
    // A copy, because the entry is overwritten for the next message.
    const kept = { ...entry };
    if (this.#kernel.audit.isWithTurn === true) return this.#lines.writtenWith(() => this.#kernel.audit.record(kept));
    this.#lines.committed((error) => {
      if (error !== undefined && kept.success) {
        kept.success = false;
        kept.error_code = lostCode;
      }
      this.#kernel.audit.record(kept);
    });
  }
}

function sizeOf(answer: Answer | undefined): number {
  return typeof answer === "string" ? Buffer.byteLength(answer) : 0;
}

/** An empty entry, which is filled in for each message. */
export function createAuditEntry(): AuditEntry {
  const [text, count] = ["", 0];
  return {
    ts: count,
    session_id: text,
    principal: text,
    chain: noChain,
    agent_id: text,
    type: text,
    capability: text,
    req_id: text,
    n: count,
    correlation_id: text,
    success: true,
    error_code: text,
    duration_ms: count,
    bytes_in: count,
    bytes_out: count,
    nested_calls: count,
    rule: text,
  };
}

/** Catches the errors that an audit log throws, and logs the first of them. In a log `isWithTurn` they lose the turn. */
export function guardAudit(audit: AuditLog, log: Kernel["log"]): AuditLog {
  let isReported = false;
  const report = (error: unknown) => {
    if (!isReported) log.error("the audit log failed", { error });
    isReported = true;
  };
  return {
    ...(audit.proven === undefined ? undefined : { proven: audit.proven }),
    isWithTurn: audit.isWithTurn === true,
    record(entry) {
      if (audit.isWithTurn === true) return audit.record(entry);
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
