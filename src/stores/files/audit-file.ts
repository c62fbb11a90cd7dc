// The audit log as a file of JSON lines, one line per handled message. Best effort: it may lose entries, and logs how
// many, but it never fails or delays a call.

import type { AuditLog } from "../../host/ports/audit.ts";
import type { Logger } from "../../plugin/logger.ts";
import { createAuditLineWriter } from "./audit-line.ts";
import { createRotatingFile, withoutStart } from "./rotating-file.ts";

export interface AuditFileOptions {
  path: string;
  log: Pick<Logger, "warn">;
  /** The file is moved aside before it would grow beyond this. */
  maxBytes?: number;
  maxBackups?: number;
  /** Entries that could not be written yet, in bytes; beyond this limit new entries are dropped and counted. */
  maxPendingBytes?: number;
  /** How long an entry may wait; also how often a failing file is tried again. */
  flushMs?: number;
}

/** Lines are gathered in buffers of this size; a full buffer is written at once. */
const bufferBytes = 256 * 1024;
const maxSpareBuffers = 4;

export function createAuditFile(options: AuditFileOptions): AuditLog {
  const {
    path,
    log,
    maxBytes = 10 * 1024 * 1024,
    maxBackups = 5,
    maxPendingBytes = 16 * 1024 * 1024,
    flushMs = 100,
  } = options;
  const file = createRotatingFile({ path, maxBytes, maxBackups });
  const writeLine = createAuditLineWriter();

  let buffer: Buffer = Buffer.allocUnsafeSlow(0);
  let filled = 0;
  /** Full buffers that wait to be written, and empty buffers to be used again. */
  let full: Buffer[] = [];
  const spare: Buffer[] = [];
  let pendingBytes = 0;
  let writing: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closing: Promise<void> | undefined;

  /** True from the first failure or loss until a write succeeds without an entry lost in the meantime. */
  let isTroubled = false;
  let lost = 0;
  /** The last write failed: the next write waits for the timer, however many entries are pending. */
  let isFailing = false;

  function reportTrouble(message: string, cause?: unknown): void {
    if (isTroubled) return;
    isTroubled = true;
    log.warn(message, cause === undefined ? { path } : { path, cause });
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    writing ??= write().finally(() => {
      writing = undefined;
      // Also if the write succeeded but entries were dropped during it: the timer then logs how many.
      if (pendingBytes > 0 || isTroubled) timer ??= schedule();
    });
  }

  function schedule(): NodeJS.Timeout {
    return setTimeout(flush, flushMs).unref();
  }

  /** Sets the lines so far aside and begins a buffer with at least this much room. */
  function beginBuffer(bytes: number): void {
    if (filled === 0 && bytes <= buffer.length) return;
    if (filled > 0) full.push(buffer.subarray(0, filled));
    const next = bytes <= bufferBytes ? spare.pop() : undefined;
    buffer = next ?? Buffer.allocUnsafeSlow(Math.max(bytes, bufferBytes));
    filled = 0;
  }

  async function write(): Promise<void> {
    beginBuffer(0);
    const lines = full;
    full = [];
    const lostBefore = lost;
    // All buffers in a single write: one buffer per turn of the event loop would be slower than a busy host fills them.
    const { written, cause } = await file.append(lines);
    pendingBytes -= written;
    if (cause === undefined) lines.forEach(recycle);
    else full = [...withoutStart(lines, written), ...full];
    isFailing = cause !== undefined;
    if (cause !== undefined)
      reportTrouble("the audit file cannot be written; calls continue, entries are buffered for a while", cause);
    else if (isTroubled && lost === lostBefore) {
      log.warn("the audit file is written again", { path, lost });
      isTroubled = false;
      lost = 0;
    }
  }

  function recycle(lines: Buffer): void {
    const whole = Buffer.from(lines.buffer);
    if (whole.length === bufferBytes && spare.length < maxSpareBuffers) spare.push(whole);
  }

  async function close(): Promise<void> {
    await writing;
    clearTimeout(timer);
    await write();
    await file.close();
    if (pendingBytes > 0) {
      for (const lines of full) for (const byte of lines) if (byte === 10) lost += 1;
      log.warn("the audit file was closed with entries unwritten", { path, lost });
    }
  }

  return {
    record(entry) {
      if (closing !== undefined) return;
      if (pendingBytes >= maxPendingBytes) {
        lost += 1;
        reportTrouble("audit entries are dropped: they come faster than they can be written");
        return;
      }
      let end = writeLine(entry, buffer, filled);
      const isFull = end < 0;
      if (isFull) {
        beginBuffer(-end);
        end = writeLine(entry, buffer, 0);
      }
      pendingBytes += end - filled;
      filled = end;
      timer ??= schedule();
      if (isFull && full.length > 0 && !isFailing) flush();
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}
