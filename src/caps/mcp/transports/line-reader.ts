// JSON-RPC messages, one per line, from a stream that another program writes: of any size, at any speed, or not JSON at all.
import type { Readable } from "node:stream";
import { createTextLineSplitter } from "../../../framing/text-lines.ts";

export interface LineReaderOptions {
  readonly maxLineBytes: number;
  /** After so many lines, other work has its turn. Until then nothing more is read, which slows the writer down. */
  readonly maxLinesPerTurn: number;
  /** More lines in a row than this that are not messages are fatal. */
  readonly maxUnreadable: number;
  onMessage(message: object): void;
  onProblem(error: Error): void;
  /** Called once; nothing is read afterwards. */
  onFatal(error: Error): void;
}

export class LineReader {
  readonly #stream: Readable;
  readonly #options: LineReaderOptions;
  readonly #lines: { push(text: string): void };
  /** Text that was read and not yet split into lines. */
  #rest: string | undefined;
  #unreadable = 0;
  #isOver = false;
  #turn: NodeJS.Immediate | undefined;
  #onFinished: (() => void) | undefined;

  constructor(stream: Readable, options: LineReaderOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#lines = createTextLineSplitter({
      maxLineLength: options.maxLineBytes,
      onLine: (line) => this.#receive(line),
      onTooLong: () => this.#failTooLong(),
    });
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => this.#take(text));
    stream.on("close", () => this.#end());
  }

  /** Calls back once everything that was written has been read. Another program may hold the pipe open: it waits 200 ms. */
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

  #take(text: string): void {
    if (this.#isOver) return;
    let end = 0;
    for (let lines = 0; lines < this.#options.maxLinesPerTurn; lines++) {
      const at = text.indexOf("\n", end);
      if (at === -1) return this.#lines.push(text);
      end = at + 1;
    }
    this.#lines.push(text.slice(0, end));
    if (end < text.length && !this.#isOver) this.#later(text.slice(end));
  }

  #later(rest: string): void {
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

  #receive(line: string): void {
    // Further lines of the same piece of text, after a fatal line.
    if (this.#isOver) return;
    const { maxLineBytes, maxUnreadable } = this.#options;
    // A character takes up to three bytes, so most lines need not be measured.
    if (line.length * 3 > maxLineBytes && Buffer.byteLength(line) > maxLineBytes) return this.#failTooLong();
    const messages = parseMessages(line);
    if (messages !== undefined) {
      if (messages.length > 0) this.#unreadable = 0;
      for (const message of messages) this.#options.onMessage(message);
      return;
    }
    this.#unreadable += 1;
    const shown = JSON.stringify(line.slice(0, maxShownLength));
    if (this.#unreadable > maxUnreadable)
      this.#fail(new Error(`more than ${maxUnreadable} lines in a row are not messages: ${shown}`));
    else if (this.#unreadable === 1) this.#options.onProblem(new Error(`a line is not a message: ${shown}`));
  }

  #failTooLong(): void {
    if (!this.#isOver) this.#fail(new Error(`a message is longer than ${this.#options.maxLineBytes} bytes`));
  }

  #fail(error: Error): void {
    this.#isOver = true;
    this.#rest = undefined;
    clearImmediate(this.#turn);
    // The stream is read on and its data dropped: a full pipe would prevent the writer from noticing that it should
    // end.
    this.#stream.resume();
    this.#options.onFatal(error);
  }
}

const lastWordsMs = 200;

/**
 * Characters of a line that is not a message. Secrets are redacted later, and would not be found if they were cut
 * before.
 */
const maxShownLength = 4000;

/**
 * The messages in a line or a frame: one, several in a batch of revision 2025-03-26, or none if it is empty. Undefined
 * if it is not valid.
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

/** A batch is handled in one turn, so its length is limited. */
const maxBatchLength = 100;

function isMessage(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  return "method" in value || "result" in value || "error" in value;
}
