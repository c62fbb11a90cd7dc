// The file behind a log of turns: frames one after the other, each of them whole or not there. It is emptied by a new
// epoch, not by a write: frames of another epoch count as nothing, and are written over.
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { syncFolderNow } from "./durable-file.ts";

/** Where the log has this much, it is time to empty it: a recovery reads it whole. */
export const maxTurnLogBytes = 16 * 1024 * 1024;

/** The file grows by at least this much: a sync that also has to write down a new length takes twice as long. */
const minGrowth = 256 * 1024;

/** A frame longer than this has memory of its own, which goes with it. */
const maxKeptFrame = 1024 * 1024;

/** Epoch, length and checksum of what follows. */
const headerBytes = 12;
const separator = "\u001e";

export class TurnLogFile {
  readonly #path: string;
  readonly #file: number;
  /** Whether room is made ahead: of use only to those who sync. */
  readonly #isSynced: boolean;
  #length: number;
  #frame = Buffer.alloc(64 * 1024);
  #position = 0;

  constructor(path: string, isSynced: boolean) {
    this.#path = path;
    this.#isSynced = isSynced;
    this.#file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    this.#length = fstatSync(this.#file).size;
    // The name lasts from here on; what is written under it is synced as it comes.
    if (isSynced && this.#length === 0) syncFolderNow(dirname(path));
  }

  /** Of frames that were written since it was opened or emptied. */
  get isEmpty(): boolean {
    return this.#position === 0;
  }

  /**
   * The records of one epoch, oldest first. A frame that is not whole was never durable, nor was what follows it. There is
   * no epoch 0: it would be that of all the room that is made ahead.
   */
  read(epoch: number): string[] {
    if (epoch === 0) return [];
    const bytes = Buffer.alloc(this.#length);
    readSync(this.#file, bytes, 0, bytes.length, 0);
    const records: string[] = [];
    for (let at = 0; at + headerBytes <= bytes.length; ) {
      const end = at + headerBytes + bytes.readUInt32LE(at + 4);
      if (bytes.readUInt32LE(at) !== epoch || end > bytes.length) break;
      const text = bytes.subarray(at + headerBytes, end);
      if (crc32(text) !== bytes.readUInt32LE(at + 8)) break;
      for (const record of text.toString("utf8").split(separator)) records.push(record);
      at = end;
    }
    return records;
  }

  /** Writes records as one frame; false where there is no room for it. What it throws leaves the log as it was. */
  write(records: readonly string[], epoch: number): boolean {
    const text = records.length === 1 ? (records[0] as string) : records.join(separator);
    const byteLength = Buffer.byteLength(text);
    const end = this.#position + headerBytes + byteLength;
    if (end > maxTurnLogBytes) return false;
    const frame = this.#encode(text, byteLength, epoch);
    if (this.#isSynced && end > this.#length) this.#grow(end);
    writeAll(this.#file, frame, this.#position);
    this.#position = end;
    this.#length = Math.max(this.#length, end);
    return true;
  }

  /** The next frame is the first one again. */
  empty(): void {
    this.#position = 0;
  }

  close(isRemoved: boolean): void {
    closeSync(this.#file);
    if (isRemoved) rmSync(this.#path, { force: true });
  }

  #encode(text: string, byteLength: number, epoch: number): Buffer {
    const end = headerBytes + byteLength;
    const isKept = end <= maxKeptFrame;
    if (isKept && end > this.#frame.length) this.#frame = Buffer.alloc(Math.min(end * 2, maxKeptFrame));
    const frame = isKept ? this.#frame.subarray(0, end) : Buffer.alloc(end);
    frame.write(text, headerBytes, "utf8");
    frame.writeUInt32LE(epoch, 0);
    frame.writeUInt32LE(byteLength, 4);
    frame.writeUInt32LE(crc32(frame.subarray(headerBytes)), 8);
    return frame;
  }

  #grow(end: number): void {
    const length = Math.min(Math.max(end, this.#length * 2, minGrowth), maxTurnLogBytes);
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
