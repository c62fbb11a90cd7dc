// What a session has to say, numbered and kept until its peer has it. Readers come and go; each has a cursor of its own,
// so two of them do not steal from each other and a slow one costs no more than the log's bounds.
import { encodeMessage } from "../../protocol/codec.ts";
import type { Message } from "../../protocol/envelope.ts";
import type { Limits } from "../../protocol/limits.ts";

export interface OutboundLine {
  /** Counts the lines of a session from 1. A gap notice carries the number of the last line it stands for. */
  readonly seq: number;
  readonly line: string;
}

export interface Reader {
  /**
   * The next lines, at least one and up to about `maxBytes` where there are any; moves the cursor. Readers that stand at
   * the same place in one turn get the same array, so that whoever formats lines for many can do so once.
   */
  read(maxBytes: number): readonly OutboundLine[];
  /** The number of the last line this reader was given. */
  readonly cursor: number;
  close(): void;
}

type LogLimits = Pick<Limits, "maxOutboundLines" | "maxOutboundBytes" | "maxReplayBytes">;

interface OutboundLogOptions {
  limits: LogLimits;
  createGap(from: number, to: number): Message;
  /** A reader has taken or acknowledged lines. */
  onTaken?(): void;
  /**
   * Runs the callback once the current turn is over: everything said in one turn leaves in one write. The default waits
   * for what promises of this turn still have to say, and for nothing else.
   */
  schedule?(callback: () => void): void;
}

/**
 * What is said in one turn leaves in one write, but in a long turn a reader is woken each time this much has gathered: it
 * works on the first answers while the host is at the last. A fifth more calls per second over HTTP with 64 in flight.
 */
const eagerBytes = 8 * 1024;

/** As many lines of one turn are worth two writes. */
const manyLines = 32;

/** From here on rounds are timed and spaced; an agent and a few onlookers never wait. */
const manyReaders = 32;
const maxRestMs = 50;

export class OutboundLog {
  readonly #limits: LogLimits;
  readonly #createGap: OutboundLogOptions["createGap"];
  readonly #onTaken: (() => void) | undefined;
  readonly #schedule: (callback: () => void) => void;
  readonly #readers = new Map<Reader, () => void>();
  /** Lines `#first … #last`; the head of the array is dropped in bulk, not line by line. */
  #lines: (string | undefined)[] = [];
  #head = 0;
  #first = 1;
  #last = 0;
  #bytes = 0;
  /** Up to here every reader has read; bytes of that part still kept. */
  #delivered = 0;
  #deliveredBytes = 0;
  /** Up to here some reader has read; bytes of the lines after it. */
  #taken = 0;
  #untakenBytes = 0;
  /** Numbers of the asides after it. */
  readonly #asides: number[] = [];
  #isScheduled = false;
  #mustWake = false;
  /** How long the next round of waking waits. */
  #restMs = 0;
  /** Said since the readers were last woken. */
  #unreadBytes = 0;
  #isDeliveryStale = false;
  /** What the last of several readers was given in this turn. */
  #shared: { cursor: number; last: number; maxBytes: number; lines: readonly OutboundLine[] } | undefined;

  constructor({ limits, createGap, onTaken, schedule = process.nextTick }: OutboundLogOptions) {
    this.#limits = limits;
    this.#createGap = createGap;
    this.#onTaken = onTaken;
    this.#schedule = schedule;
  }

  get lastSeq(): number {
    return this.#last;
  }

  get keptBytes(): number {
    return this.#bytes;
  }

  /** Of lines that no reader has taken yet. */
  get unsentBytes(): number {
    return this.#bytes - this.#deliveredBytes;
  }

  /**
   * Of lines that not even the fastest reader has taken, apart from asides. A second reader that is stuck does not count.
   */
  get untakenBytes(): number {
    return this.#untakenBytes;
  }

  /** The line answers no request: it is an event or a push, and does not count as untaken. */
  markAside(seq: number): void {
    if (seq <= this.#taken || seq < this.#first) return;
    this.#asides.push(seq);
    this.#untakenBytes -= (this.#lines[this.#head + seq - this.#first] as string).length;
  }

  /** Whether this line, the next that is taken or dropped, was marked. */
  #shiftAside(seq: number): boolean {
    if (this.#asides[0] !== seq) return false;
    this.#asides.shift();
    return true;
  }

  get readerCount(): number {
    return this.#readers.size;
  }

  /** Takes over lines of an earlier process; the last one has the number `lastSeq`. */
  recover(lines: readonly string[], lastSeq: number): void {
    this.#lines = [...lines];
    this.#last = lastSeq;
    this.#first = lastSeq - lines.length + 1;
    this.#bytes = lines.reduce((bytes, line) => bytes + line.length, 0);
    this.#untakenBytes = this.#bytes;
    this.#delivered = this.#first - 1;
    this.#taken = this.#delivered;
  }

  /** Returns the number of the line. */
  append(line: string): number {
    this.#add(line);
    if (this.#unreadBytes >= eagerBytes && this.#readers.size > 0) this.#wakeNow();
    else this.#wakeSoon();
    return this.#last;
  }

  /**
   * Lines that are all there at once. Many leave in two parts: while the host is at the second, its peer works on the
   * first. More parts would cost more than they gain, since each comes back as a request of its own.
   */
  appendAll(lines: readonly string[]): void {
    const half = lines.length >= manyLines ? lines.length >> 1 : 0;
    for (const [index, line] of lines.entries()) {
      if (index === half && index > 0 && this.#readers.size > 0) this.#wakeNow();
      this.#add(line);
    }
    this.#wakeSoon();
  }

  #add(line: string): void {
    this.#lines.push(line);
    this.#last += 1;
    this.#bytes += line.length;
    this.#untakenBytes += line.length;
    const { maxOutboundBytes, maxOutboundLines } = this.#limits;
    while (this.#bytes > maxOutboundBytes || this.#last - this.#first >= maxOutboundLines) {
      if (this.#first === this.#last) break; // a single line larger than the bound still goes out
      this.#dropFirst();
    }
    this.#unreadBytes += line.length;
  }

  /** Starts reading after line `from`. `wake` is called when there is more to read: it must not append. */
  attach(from: number, wake: () => void, onClose: () => void = () => {}): Reader {
    const log = this;
    let cursor = Number.isSafeInteger(from) ? Math.min(Math.max(0, from), this.#last) : 0;
    const reader: Reader = {
      get cursor() {
        return cursor;
      },
      read(maxBytes) {
        if (cursor === log.#last) return nothing;
        const lines = log.#readers.size > 1 ? log.#readShared(cursor, maxBytes) : log.#read(cursor, maxBytes);
        const end = lines.at(-1);
        if (end !== undefined) {
          cursor = end.seq;
          log.#noteTaken(cursor);
          log.#noteDelivery();
        }
        return lines;
      },
      close() {
        if (log.#readers.delete(reader)) onClose();
      },
    };
    this.#readers.set(reader, wake);
    if (cursor < this.#last) this.#wakeSoon();
    return reader;
  }

  /** The peer has everything up to `seq`: it need not be kept, unless a reader has yet to come by. */
  acknowledge(seq: number): void {
    let limit = Math.min(seq, this.#last);
    for (const reader of this.#readers.keys()) limit = Math.min(limit, reader.cursor);
    if (this.#first > limit) return;
    while (this.#first <= limit) this.#dropFirst();
    this.#onTaken?.();
  }

  #noteTaken(cursor: number): void {
    if (cursor <= this.#taken) return;
    for (let seq = Math.max(this.#taken + 1, this.#first); seq <= cursor; seq++) {
      if (!this.#shiftAside(seq)) this.#untakenBytes -= (this.#lines[this.#head + seq - this.#first] as string).length;
    }
    this.#taken = cursor;
    this.#onTaken?.();
  }

  #readShared(cursor: number, maxBytes: number): readonly OutboundLine[] {
    const known = this.#shared;
    if (known?.cursor === cursor && known.last === this.#last && known.maxBytes === maxBytes) return known.lines;
    const lines = this.#read(cursor, maxBytes);
    this.#shared = { cursor, last: this.#last, maxBytes, lines };
    this.#runSoon();
    return lines;
  }

  #read(cursor: number, maxBytes: number): readonly OutboundLine[] {
    const lines: OutboundLine[] = [];
    if (cursor + 1 < this.#first) {
      const to = this.#first - 1;
      lines.push({ seq: to, line: encodeMessage(this.#createGap(cursor + 1, to)) });
      cursor = to;
    }
    let bytes = 0;
    for (let seq = cursor + 1; seq <= this.#last && bytes < maxBytes; seq++) {
      const line = this.#lines[this.#head + seq - this.#first] as string;
      bytes += line.length;
      lines.push({ seq, line });
    }
    return lines;
  }

  /** With many readers the slowest is looked for once per turn, not once per reader. */
  #noteDelivery(): void {
    if (this.#readers.size <= 1) return this.#trimDelivered();
    this.#isDeliveryStale = true;
    this.#runSoon();
  }

  #trimDelivered(): void {
    this.#isDeliveryStale = false;
    // The last reader may have left in the turn in which it read; nobody knows any more how far.
    if (this.#readers.size === 0) return;
    let delivered = this.#last;
    for (const reader of this.#readers.keys()) delivered = Math.min(delivered, reader.cursor);
    for (let seq = Math.max(this.#delivered + 1, this.#first); seq <= delivered; seq++) {
      this.#deliveredBytes += (this.#lines[this.#head + seq - this.#first] as string).length;
    }
    this.#delivered = Math.max(this.#delivered, delivered);
    while (this.#deliveredBytes > this.#limits.maxReplayBytes && this.#first <= this.#delivered) this.#dropFirst();
  }

  #dropFirst(): void {
    const line = this.#lines[this.#head] as string;
    this.#bytes -= line.length;
    if (this.#first <= this.#delivered) this.#deliveredBytes -= line.length;
    if (this.#first > this.#taken && !this.#shiftAside(this.#first)) this.#untakenBytes -= line.length;
    this.#lines[this.#head] = undefined;
    this.#head += 1;
    this.#first += 1;
    if (this.#head === this.#lines.length) {
      this.#lines = [];
      this.#head = 0;
    } else if (this.#head > 1024 && this.#head * 2 > this.#lines.length) {
      this.#lines = this.#lines.slice(this.#head);
      this.#head = 0;
    }
  }

  #wakeNow(): void {
    this.#mustWake = false;
    this.#unreadBytes = 0;
    for (const wake of [...this.#readers.values()]) wake();
  }

  #wakeSoon(): void {
    if (this.#readers.size === 0) return;
    this.#mustWake = true;
    this.#runSoon();
  }

  #runSoon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (this.#restMs < 1) this.#schedule(this.#run);
    else setTimeout(this.#run, this.#restMs);
  }

  readonly #run = (): void => {
    if (this.#mustWake) this.#wakeReaders();
    this.#isScheduled = false;
    this.#shared = undefined;
    if (this.#isDeliveryStale) this.#trimDelivered();
    if (this.#mustWake) this.#runSoon();
  };

  /** A round through a thousand readers takes longer than a turn: as much time is left to gather lines for the next. */
  #wakeReaders(): void {
    if (this.#readers.size < manyReaders) {
      this.#restMs = 0;
      return this.#wakeNow();
    }
    const startedAt = performance.now();
    this.#wakeNow();
    this.#restMs = Math.min(maxRestMs, performance.now() - startedAt);
  }
}

const nothing: readonly OutboundLine[] = [];
