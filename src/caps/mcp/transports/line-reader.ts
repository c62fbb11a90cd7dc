// JSON-RPC messages, one per line, from a stream that somebody else writes: of any size, at any speed, or no JSON at all.
import type { Readable } from "node:stream";

export interface LineReaderOptions {
  readonly maxLineBytes: number;
  /** After so many lines others have their turn; until then nothing more is read, so the writer feels it. */
  readonly maxLinesPerTurn: number;
  /** Lines in a row that are no message before it is fatal. */
  readonly maxUnreadable: number;
  onMessage(message: object): void;
  onProblem(error: Error): void;
  /** Called once; nothing is read afterwards. */
  onFatal(error: Error): void;
}

const newline = 0x0a;

export class LineReader {
  readonly #stream: Readable;
  readonly #options: LineReaderOptions;
  /** The pieces of a line whose end has not come. */
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** What was read and not yet looked at. */
  #rest: Buffer | undefined;
  #unreadable = 0;
  #isOver = false;
  #turn: NodeJS.Immediate | undefined;
  #onFinished: (() => void) | undefined;

  constructor(stream: Readable, options: LineReaderOptions) {
    this.#stream = stream;
    this.#options = options;
    stream.on("data", (chunk: Buffer) => this.#take(chunk));
    stream.on("close", () => this.#end());
  }

  /** Calls back once everything that was written has been read. Somebody else may hold the pipe open: not for long. */
  finish(then: () => void): void {
    this.#onFinished = then;
    if (this.#stream.destroyed || this.#isOver) return this.#end();
    setTimeout(() => this.#end(), lastWordsMs).unref();
  }

  #end(): void {
    if (this.#rest !== undefined && !this.#isOver) return;
    const finished = this.#onFinished;
    this.#onFinished = undefined;
    finished?.();
  }

  #take(chunk: Buffer): void {
    if (this.#isOver) return;
    let from = 0;
    for (let lines = 0; ; lines++) {
      const at = chunk.indexOf(newline, from);
      if (at === -1) break;
      if (lines === this.#options.maxLinesPerTurn) return this.#later(chunk.subarray(from));
      this.#line(chunk.subarray(from, at));
      if (this.#isOver) return;
      from = at + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
  }

  #later(rest: Buffer): void {
    this.#stream.pause();
    this.#rest = rest;
    this.#turn = setImmediate(() => {
      this.#turn = undefined;
      const again = this.#rest;
      this.#rest = undefined;
      if (again !== undefined) this.#take(again);
      if (this.#rest !== undefined) return;
      this.#stream.resume();
      if (this.#stream.destroyed) this.#end();
    });
  }

  #keep(piece: Buffer): void {
    this.#bytes += piece.length;
    this.#pieces.push(piece);
    if (this.#bytes > this.#options.maxLineBytes)
      this.#fail(new Error(`a message is longer than ${this.#options.maxLineBytes} bytes`));
  }

  #line(last: Buffer): void {
    let line = last;
    if (this.#pieces.length > 0) {
      this.#keep(last);
      if (this.#isOver) return;
      line = Buffer.concat(this.#pieces);
      this.#pieces = [];
      this.#bytes = 0;
    } else if (line.length > this.#options.maxLineBytes) {
      return this.#fail(new Error(`a message is longer than ${this.#options.maxLineBytes} bytes`));
    }
    const messages = parseMessages(line.toString("utf8"));
    if (messages !== undefined) {
      if (messages.length > 0) this.#unreadable = 0;
      for (const message of messages) this.#options.onMessage(message);
      return;
    }
    this.#unreadable += 1;
    const shown = JSON.stringify(line.toString("utf8", 0, maxShownBytes));
    if (this.#unreadable > this.#options.maxUnreadable)
      this.#fail(new Error(`what it writes are no messages: ${shown}`));
    else if (this.#unreadable === 1) this.#options.onProblem(new Error(`a line is no message: ${shown}`));
  }

  #fail(error: Error): void {
    this.#isOver = true;
    this.#pieces = [];
    this.#rest = undefined;
    clearImmediate(this.#turn);
    // Read on and thrown away: a full pipe would keep the writer from seeing that it should end.
    this.#stream.resume();
    this.#options.onFatal(error);
  }
}

const lastWordsMs = 200;

/** Of a line that is no message. Whoever shows it blots out secrets first, which must not be cut by then. */
const maxShownBytes = 4000;

/**
 * The messages that a line or a frame holds: one or, in a batch as the revision of 2025-03-26 has them, several; none
 * where it is empty. Undefined where it is anything else.
 */
export function parseMessages(line: string): object[] | undefined {
  const text = line.trim();
  if (text === "") return [];
  try {
    const value: unknown = JSON.parse(text);
    if (!Array.isArray(value)) return isMessage(value) ? [value] : undefined;
    return value.length > 0 && value.length <= maxBatchLength && value.every(isMessage) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A batch is taken in one turn. */
const maxBatchLength = 100;

function isMessage(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  return "method" in value || "result" in value || "error" in value;
}
