// The audit log in mode `proven`: see src/audit. The lines are those of the audit file.
import { createHash } from "node:crypto";
import type { WriteLine } from "../../audit/block-builder.ts";
import { ProvenAudit, type ProvenAuditOptions } from "../../audit/proven-audit.ts";
import { maxEntryBytes } from "../../audit/tiles.ts";
import type { AuditEntry, AuditLog } from "../../host/ports/audit.ts";
import { createAuditLineWriter } from "./audit-line.ts";

/** Characters of a text in a line that would be too long for a block. A character takes up to six bytes. */
const maxTextLength = 500;
const maxListLength = 8;

export interface ProvenAuditLog extends AuditLog {
  /** `record` must be called in the turn in which the answer is journalled, not after its commit. */
  readonly isWithTurn: true;
  /** Checkpoints and proofs, for the handshake and for operators. */
  readonly proven: ProvenAudit<AuditEntry>;
}

export function createProvenAuditLog(options: Omit<ProvenAuditOptions<AuditEntry>, "writeLine">): ProvenAuditLog {
  const proven = new ProvenAudit<AuditEntry>({ ...options, writeLine: createBoundedLineWriter() });
  return { isWithTurn: true, proven, record: (entry) => proven.record(entry), close: () => proven.close() };
}

/** A peer chooses ids and message types, so a line can be longer than a block: then long texts are shortened. */
function createBoundedLineWriter(): WriteLine<AuditEntry> {
  const writeLine = createAuditLineWriter();
  return (entry, target, offset) => {
    const end = writeLine(entry, target, offset);
    return -end > maxEntryBytes ? writeLine(shorten(entry), target, offset) : end;
  };
}

function shorten(entry: AuditEntry): AuditEntry {
  const fields = Object.entries(entry).map(([name, value]) => [name, shortenValue(value)]);
  return Object.fromEntries(fields) as AuditEntry;
}

function shortenValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, maxListLength).map(shortenValue);
  return typeof value === "string" ? cut(value) : value;
}

/** The digest identifies the whole text. */
function cut(text: string): string {
  if (text.length <= maxTextLength) return text;
  return `${text.slice(0, maxTextLength)}... sha256:${createHash("sha256").update(text).digest("hex")}`;
}
