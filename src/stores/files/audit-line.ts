// An audit entry as a line of JSON, built by hand: this runs once per handled message, and JSON.stringify of the entry
// takes several times as long. Consecutive entries mostly differ in their req_id only. A line is therefore assembled
// from four pieces, three of them usually cached, directly in the buffer that is written.
import type { AuditEntry } from "../../host/ports/audit.ts";
import { escapeNonAscii } from "../../protocol/json.ts";

/** Sessions whose piece is kept ready. When there are more, pieces are made anew from time to time. */
const maxKeptOrigins = 1024;
const maxKeptLength = 512;

/** Between the id of the message and the number of the entry. */
const countField = '","n":';

/**
 * Writes the line of an entry with its newline; returns the offset of its end, or minus its length if there is no
 * room.
 */
export type AuditLineWriter = (entry: AuditEntry, target: Buffer, offset: number) => number;

/** Lines are ASCII. `ts` is in seconds; times have three decimals. */
export function createAuditLineWriter(): AuditLineWriter {
  const originOf = keepOrigins();
  const outcomeOf = keepOutcome();
  const noBytes: Buffer = Buffer.alloc(0);
  let time = { ts: Number.NaN, bytes: noBytes };
  /** Time and origin as a single piece, for the entries of one session within one millisecond. */
  let start = { ts: Number.NaN, origin: noBytes, bytes: noBytes };
  /** The previous line: if only the id differs, copying that line and writing the id over it is the cheapest way. */
  let previous = { target: noBytes, from: 0, end: 0, start: noBytes, outcome: noBytes };
  return (entry, target, from) => {
    if (entry.ts !== time.ts) time = { ts: entry.ts, bytes: Buffer.from(`{"ts":${thousandths(entry.ts)}`, "latin1") };
    const origin = originOf(entry);
    if (typeof origin === "string") return writeText(lineOf(entry, origin), target, from);
    if (start.ts !== entry.ts || start.origin !== origin)
      start = { ts: entry.ts, origin, bytes: Buffer.concat([time.bytes, origin]) };
    const outcome = outcomeOf(entry);
    const { req_id } = entry;
    const count = String(entry.n);
    const length = start.bytes.length + req_id.length + countField.length + count.length + outcome.length;
    const end = from + length;
    if (end > target.length) return -length;
    const isLikePrevious =
      previous.target === target &&
      previous.end === from &&
      end - from === from - previous.from &&
      previous.start === start.bytes &&
      previous.outcome === outcome;
    if (isLikePrevious) target.copyWithin(from, previous.from, from);
    else {
      target.set(start.bytes, from);
      target.set(outcome, end - outcome.length);
      previous = { target, from, end, start: start.bytes, outcome };
    }
    const at = from + start.bytes.length;
    if (!writePlain(req_id, target, at)) return writeText(lineOf(entry, origin.toString("latin1")), target, from);
    writePlainQuoted(countField, target, at + req_id.length);
    writePlain(count, target, at + req_id.length + countField.length);
    previous.from = from;
    previous.end = end;
    return end;
  };
}

/**
 * Writes text that needs no escaping in JSON; returns false for any other text. Cheaper than `Buffer.write` for an id.
 */
function writePlain(text: string, target: Buffer, offset: number): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (!isPlainCode(code)) return false;
    target[offset + index] = code;
  }
  return true;
}

function writePlainQuoted(text: string, target: Buffer, offset: number): void {
  for (let index = 0; index < text.length; index++) target[offset + index] = text.charCodeAt(index);
}

/** The line of the first entry of a session. Nothing is cached yet, and the pieces may never be needed again. */
function lineOf(entry: AuditEntry, origin: string): string {
  return `{"ts":${thousandths(entry.ts)}${origin}${unquoted(entry.req_id)}${countField}${entry.n}${outcomeText(entry)}`;
}

function writeText(line: string, target: Buffer, from: number): number {
  return from + line.length > target.length ? -line.length : from + target.write(line, from, "latin1");
}

/**
 * The origin (session, agent, message type, capability) is the same from call to call of an agent: its bytes are
 * cached from the second entry on.
 */
function keepOrigins(): (entry: AuditEntry) => Buffer | string {
  const kept = new Map<string, Origin>();
  let last: Origin | undefined;
  return (entry) => {
    if (last === undefined || !isSameOrigin(entry, last)) {
      last = kept.get(entry.session_id);
      if (last === undefined || !isSameOrigin(entry, last)) {
        last = toOrigin(entry);
        if (kept.size >= maxKeptOrigins) kept.clear();
        if (last.text.length <= maxKeptLength) kept.set(entry.session_id, last);
        return last.text;
      }
    }
    last.bytes ??= Buffer.from(last.text, "latin1");
    return last.bytes;
  };
}

type Origin = Pick<AuditEntry, "session_id" | "principal" | "chain" | "agent_id" | "type" | "capability"> & {
  readonly text: string;
  bytes: Buffer | undefined;
};

function isSameOrigin(entry: AuditEntry, origin: Origin): boolean {
  return (
    entry.session_id === origin.session_id &&
    entry.type === origin.type &&
    entry.agent_id === origin.agent_id &&
    entry.principal === origin.principal &&
    entry.chain === origin.chain &&
    entry.capability === origin.capability
  );
}

function toOrigin({ session_id, principal, chain, agent_id, type, capability }: AuditEntry): Origin {
  const by = `,"principal":${quote(principal)},"chain":[${chain.map(quote).join(",")}]`;
  const who = `,"session_id":${quote(session_id)}${by},"agent_id":${quote(agent_id)}`;
  const text = `${who},"type":${quote(type)},"capability":${quote(capability)},"req_id":"`;
  return { session_id, principal, chain, agent_id, type, capability, text, bytes: undefined };
}

/**
 * The outcome of an entry; short calls of the same kind mostly end like the previous call, so the last outcome is
 * cached.
 */
function keepOutcome(): (entry: AuditEntry) => Buffer {
  let last: AuditOutcome | undefined;
  return (entry) => {
    if (last === undefined || !isSameOutcome(entry, last)) last = toOutcome(entry);
    return last.bytes;
  };
}

type AuditOutcome = ReturnType<typeof toOutcome>;

function isSameOutcome(entry: AuditEntry, outcome: AuditOutcome): boolean {
  return (
    entry.duration_ms === outcome.duration_ms &&
    entry.bytes_in === outcome.bytes_in &&
    entry.bytes_out === outcome.bytes_out &&
    entry.nested_calls === outcome.nested_calls &&
    entry.success === outcome.success &&
    entry.error_code === outcome.error_code &&
    entry.rule === outcome.rule &&
    entry.correlation_id === outcome.correlation_id
  );
}

function toOutcome(entry: AuditEntry) {
  const { correlation_id, success, error_code, rule, duration_ms, bytes_in, bytes_out, nested_calls } = entry;
  const bytes = Buffer.from(outcomeText(entry), "latin1");
  return { correlation_id, success, error_code, rule, duration_ms, bytes_in, bytes_out, nested_calls, bytes };
}

function outcomeText(entry: AuditEntry): string {
  const { correlation_id, success, error_code, rule, duration_ms, bytes_in, bytes_out, nested_calls } = entry;
  const result = `,"correlation_id":${quote(correlation_id)},"success":${success},"error_code":${quote(error_code)}`;
  const cost = `,"duration_ms":${thousandths(duration_ms * 1000)},"bytes_in":${bytes_in},"bytes_out":${bytes_out}`;
  return `${result}${cost},"nested_calls":${nested_calls},"rule":${quote(rule)}}\n`;
}

function quote(text: string): string {
  return `"${unquoted(text)}"`;
}

/** The JSON text between the quotes. */
function unquoted(text: string): string {
  return isPlain(text) ? text : escapeNonAscii(JSON.stringify(text)).slice(1, -1);
}

/** True for text that JSON writes as it is. */
function isPlain(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (!isPlainCode(text.charCodeAt(index))) return false;
  return true;
}

/** Printable ASCII but for quotes and backslashes. */
function isPlainCode(code: number): boolean {
  return code >= 0x20 && code <= 0x7e && code !== 0x22 && code !== 0x5c;
}

const fractions = Array.from({ length: 1000 }, (_, index) => `.${String(index).padStart(3, "0")}`);

/** `value / 1000`. Printing two small integers is cheaper than finding the shortest digits of a fraction. */
function thousandths(value: number): string {
  const rounded = Math.round(value);
  if (!(rounded >= 0 && rounded <= Number.MAX_SAFE_INTEGER)) return JSON.stringify(rounded / 1000);
  const whole = Math.floor(rounded / 1000);
  return whole + (fractions[rounded - whole * 1000] ?? "");
}
