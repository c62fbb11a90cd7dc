// The newest output of a process, both streams in order of arrival, addressed by byte offsets that only grow: one per
// stream, and one over both.
import type { StreamName } from "../protocol.ts";

/** Contiguous output of one stream. */
export interface Piece {
  readonly stream: StreamName;
  /** The offset of the first byte in its own stream. */
  readonly offset: number;
  /** The offset of the first byte in the whole output. */
  readonly position: number;
  /** Valid until the next `append`. */
  readonly bytes: Buffer;
}

interface Segment {
  readonly stream: StreamName;
  offset: number;
  position: number;
  length: number;
}

interface RingLimits {
  maxBytes: number;
  maxSegments: number;
}

const firstCapacity = 4 * 1024;

export class OutputRing {
  readonly maxBytes: number;
  readonly #maxSegments: number;
  /** Grows as it is filled, since most processes write little; at `maxBytes` the oldest bytes are overwritten. */
  #buffer: Buffer;
  /** Oldest first; those before `#head` are gone. */
  #segments: Segment[] = [];
  #head = 0;
  #start = 0;
  #end = 0;
  readonly #ends = { stdout: 0, stderr: 0 };

  constructor({ maxBytes, maxSegments }: RingLimits) {
    this.maxBytes = maxBytes;
    this.#maxSegments = maxSegments;
    this.#buffer = Buffer.allocUnsafeSlow(Math.min(firstCapacity, maxBytes));
  }

  /** The position of the oldest byte that is kept. */
  get start(): number {
    return this.#start;
  }

  /** Bytes written so far. */
  get end(): number {
    return this.#end;
  }

  get keptBytes(): number {
    return this.#end - this.#start;
  }

  endOf(stream: StreamName | "all"): number {
    return stream === "all" ? this.#end : this.#ends[stream];
  }

  append(stream: StreamName, bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += this.maxBytes)
      this.#appendPart(stream, bytes.subarray(at, at + this.maxBytes));
  }

  #appendPart(stream: StreamName, bytes: Buffer): void {
    this.#grow(this.#end - this.#start + bytes.length);
    this.#dropBefore(this.#end + bytes.length - this.#buffer.length);
    const at = this.#end % this.#buffer.length;
    const copied = bytes.copy(this.#buffer, at);
    if (copied < bytes.length) bytes.copy(this.#buffer, 0, copied);
    const last = this.#segments.at(-1);
    if (last !== undefined && this.#head < this.#segments.length && last.stream === stream) last.length += bytes.length;
    else this.#addSegment({ stream, offset: this.#ends[stream], position: this.#end, length: bytes.length });
    this.#end += bytes.length;
    this.#ends[stream] += bytes.length;
  }

  #addSegment(segment: Segment): void {
    this.#segments.push(segment);
    if (this.#segments.length - this.#head <= this.#maxSegments) return;
    const oldest = this.#segments[this.#head] as Segment;
    this.#dropBefore(oldest.position + oldest.length);
  }

  /** Grows up to the limit; then the oldest bytes are overwritten. */
  #grow(needed: number): void {
    if (needed <= this.#buffer.length || this.#buffer.length === this.maxBytes) return;
    let capacity = this.#buffer.length;
    while (capacity < needed) capacity *= 2;
    const grown = Buffer.allocUnsafeSlow(Math.min(capacity, this.maxBytes));
    for (let position = this.#start; position < this.#end; ) {
      const bytes = this.#contiguous(
        position,
        Math.min(this.#end - position, grown.length - (position % grown.length)),
      );
      position += bytes.copy(grown, position % grown.length);
    }
    this.#buffer = grown;
  }

  #dropBefore(position: number): void {
    if (position <= this.#start) return;
    this.#start = position;
    while (this.#head < this.#segments.length) {
      const segment = this.#segments[this.#head] as Segment;
      const gone = position - segment.position;
      if (gone <= 0) break;
      if (gone < segment.length) {
        segment.offset += gone;
        segment.position += gone;
        segment.length -= gone;
        break;
      }
      this.#head += 1;
    }
    if (this.#head > 1024 && this.#head * 2 > this.#segments.length) {
      this.#segments = this.#segments.slice(this.#head);
      this.#head = 0;
    }
  }

  /** The output from a position on, up to `maxBytes`; starts at the oldest byte if the position is gone. */
  read(from: number, maxBytes: number): Piece[] {
    const pieces: Piece[] = [];
    let left = maxBytes;
    for (let index = this.#find(from); index < this.#segments.length && left > 0; index++) {
      const segment = this.#segments[index] as Segment;
      const piece = this.#pieceOf(segment, Math.max(0, from - segment.position), left);
      left -= piece.bytes.length;
      pieces.push(piece);
    }
    return pieces;
  }

  /** The same for one stream, by its own offsets. */
  readStream(stream: StreamName, from: number, maxBytes: number): Piece[] {
    const pieces: Piece[] = [];
    let left = maxBytes;
    for (let index = this.#head; index < this.#segments.length && left > 0; index++) {
      const segment = this.#segments[index] as Segment;
      if (segment.stream !== stream || segment.offset + segment.length <= from) continue;
      const piece = this.#pieceOf(segment, Math.max(0, from - segment.offset), left);
      left -= piece.bytes.length;
      pieces.push(piece);
    }
    return pieces;
  }

  /** The first segment that ends after the position. */
  #find(position: number): number {
    let low = this.#head;
    let high = this.#segments.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const { position: start, length } = this.#segments[middle] as Segment;
      if (start + length <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #pieceOf({ stream, offset, position, length }: Segment, skipped: number, maxBytes: number): Piece {
    const size = Math.min(length - skipped, maxBytes);
    const bytes = this.#whole(position + skipped, size);
    return { stream, offset: offset + skipped, position: position + skipped, bytes };
  }

  #whole(position: number, length: number): Buffer {
    const first = this.#contiguous(position, length);
    if (first.length === length) return first;
    return Buffer.concat([first, this.#contiguous(position + first.length, length - first.length)]);
  }

  /** As many of the bytes as are contiguous in the buffer. */
  #contiguous(position: number, length: number): Buffer {
    const at = position % this.#buffer.length;
    return this.#buffer.subarray(at, Math.min(at + length, this.#buffer.length));
  }
}
