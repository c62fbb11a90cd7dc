// Collects the audit lines of a turn into blocks. A block is at most 65,535 bytes long, so a large turn has several.
import { maxEntryBytes } from "./tiles.ts";

/**
 * Writes the line of an entry with its newline, in ASCII; returns the offset of its end, or minus its length if there is no
 * room.
 */
export type WriteLine<Entry> = (entry: Entry, target: Buffer, offset: number) => number;

export class BlockBuilder<Entry> {
  readonly #writeLine: WriteLine<Entry>;
  readonly #buffer = Buffer.alloc(maxEntryBytes);
  #filled = 0;
  #full: Buffer[] = [];

  constructor(writeLine: WriteLine<Entry>) {
    this.#writeLine = writeLine;
  }

  get isEmpty(): boolean {
    return this.#filled === 0 && this.#full.length === 0;
  }

  /** Throws if the line alone is longer than a block. */
  add(entry: Entry): void {
    let end = this.#writeLine(entry, this.#buffer, this.#filled);
    if (end < 0 && this.#filled > 0) {
      this.#endBlock();
      end = this.#writeLine(entry, this.#buffer, 0);
    }
    if (end < 0) throw new Error(`an audit line has ${-end} bytes; a block takes ${maxEntryBytes}`);
    this.#filled = end;
  }

  #endBlock(): void {
    if (this.#filled > 0) this.#full.push(Buffer.from(this.#buffer.subarray(0, this.#filled)));
    this.#filled = 0;
  }

  /** The blocks so far. The next line begins a new one. */
  take(): Buffer[] {
    this.#endBlock();
    const blocks = this.#full;
    this.#full = [];
    return blocks;
  }
}
