// The file behind a log of turns: consecutive frames, each valid as a whole or not at all. A new epoch empties the log
// without a write: its frames are written behind those of the last epoch, which are ignored from then on.
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { syncFolderNow } from "../../machinery/folder-sync.ts";

/**
 * The file has two halves that are written alternately: while one is written, the other still has records of which the
 * disk may have no other copy. A new epoch begins when a half is full, since a recovery reads a whole epoch.
 */
export const turnLogHalf = 16 * 1024 * 1024;

/** The file grows by at least so much: a sync that also has to write down a new length takes twice as long. */
const minGrowth = 256 * 1024;
/** And by no more than it needs and so much: it is written on the host's only thread. */
const maxGrowth = 1024 * 1024;

/** A frame longer than this has memory of its own, which goes with it. */
const maxKeptFrame = 1024 * 1024;

/** Epoch, length and checksum of the payload. */
const headerBytes = 12;
const separator = "\u001e";

export class TurnLogFile {
  readonly #path: string;
  readonly #file: number;
  readonly #half: number;
  #length: number;
  #frame = Buffer.alloc(64 * 1024);
  /** Of the epoch. */
  #start = 0;
  #position = 0;
  #isFull = false;

  constructor(path: string, half = turnLogHalf) {
    this.#path = path;
    this.#half = half;
    this.#file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      this.#length = fstatSync(this.#file).size;
      // The name is on the disk from here on; the contents are synced as they are written.
      if (this.#length === 0) syncFolderNow(dirname(path));
    } catch (error) {
      closeSync(this.#file);
      throw error;
    }
  }

  /** Of frames that were written since the epoch began, or the file was opened. */
  get isEmpty(): boolean {
    return this.#position === this.#start;
  }

  /** Whether a frame did not fit into this half. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** The offset of the next frame. */
  get position(): number {
    return this.#position;
  }

  get otherHalf(): number {
    return this.#position < this.#half ? this.#half : 0;
  }

  #endOfHalf(position: number): number {
    return position < this.#half ? this.#half : 2 * this.#half;
  }

  /**
   * Reads the records of the epoch that began at `start`, oldest first; the next frame is written behind them. A torn
   * frame was never durable, nor was any frame behind it. There is no epoch 0: preallocated room consists of zeros.
   */
  read(epoch: number, start: number): string[] {
    // To the end of the file: the release that wrote it may have had larger halves.
    const bytes = Buffer.alloc(Math.max(0, this.#length - start));
    readSync(this.#file, bytes, 0, bytes.length, start);
    const records: string[] = [];
    let at = 0;
    while (epoch !== 0 && at + headerBytes <= bytes.length) {
      const end = at + headerBytes + bytes.readUInt32LE(at + 4);
      if (bytes.readUInt32LE(at) !== epoch || end > bytes.length) break;
      const text = bytes.subarray(at + headerBytes, end);
      if (crc32(text) !== bytes.readUInt32LE(at + 8)) break;
      for (const record of text.toString("utf8").split(separator)) records.push(record);
      at = end;
    }
    this.begin(Math.min(start, this.#length) + at);
    return records;
  }

  /** The next frame is the first of an epoch, there. */
  begin(start: number): void {
    if (start !== this.#position) this.#isFull = false;
    this.#start = start;
    this.#position = start;
  }

  /** Writes records as one frame. Returns false if this half has no room for it; if it throws, the log is unchanged. */
  write(records: readonly string[], epoch: number): boolean {
    const frame = this.#encode(records.length === 1 ? (records[0] as string) : records.join(separator), epoch);
    const end = this.#position + frame.length;
    // Not up to the very end: there the other half would begin.
    this.#isFull = end >= this.#endOfHalf(this.#position);
    if (this.#isFull) return false;
    if (end > this.#length) this.#grow(end);
    writeAll(this.#file, frame, this.#position);
    this.#position = end;
    return true;
  }

  close(isRemoved: boolean): void {
    closeSync(this.#file);
    if (isRemoved) rmSync(this.#path, { force: true });
  }

  #encode(text: string, epoch: number): Buffer {
    const room = this.#roomFor(text);
    const frame = room.subarray(0, headerBytes + room.write(text, headerBytes, "utf8"));
    frame.writeUInt32LE(epoch, 0);
    frame.writeUInt32LE(frame.length - headerBytes, 4);
    frame.writeUInt32LE(crc32(frame.subarray(headerBytes)), 8);
    return frame;
  }

  #roomFor(text: string): Buffer {
    // A character has three bytes at most; to count them would be to read the text once more.
    if (headerBytes + 3 * text.length <= this.#frame.length) return this.#frame;
    const length = headerBytes + Buffer.byteLength(text);
    if (length > maxKeptFrame) return Buffer.alloc(length);
    if (length > this.#frame.length) this.#frame = Buffer.alloc(Math.min(2 * length, maxKeptFrame));
    return this.#frame;
  }

  #grow(end: number): void {
    const ahead = Math.min(Math.max(this.#length, minGrowth), maxGrowth);
    const length = Math.max(end, Math.min(this.#length + ahead, 2 * this.#half));
    try {
      writeAll(this.#file, Buffer.alloc(length - this.#length), this.#length);
    } catch (error) {
      // The last room on a disk is worth more to the tables, which take over.
      ftruncateSync(this.#file, this.#length);
      throw error;
    }
    this.#length = length;
  }
}

function writeAll(file: number, bytes: Buffer, position: number): void {
  for (let written = 0; written < bytes.length; )
    written += writeSync(file, bytes, written, bytes.length - written, position + written);
}
