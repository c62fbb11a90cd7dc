// Output in the form of messages: per stream, in chunks that end with a whole character.

import type { StreamName } from "../protocol.ts";
import type { Piece } from "./output-ring.ts";
import { encodeBytes, incompleteTail } from "./utf8.ts";

export interface OutputChunk {
  stream_type: StreamName;
  /** The offset of its first byte in its own stream. */
  offset: number;
  bytes: number;
  text: string;
  base64?: string;
}

interface Rest {
  offset: number;
  bytes: Buffer;
}

/** Keeps the incomplete last character of each stream until its rest arrives. */
export class OutputText {
  readonly #rests = new Map<StreamName, Rest>();

  /** Undefined if there is no whole character yet. */
  take({ stream, offset, bytes }: Piece): OutputChunk | undefined {
    const rest = this.#rests.get(stream);
    const whole = rest === undefined ? bytes : Buffer.concat([rest.bytes, bytes]);
    const start = rest?.offset ?? offset;
    const end = whole.length - incompleteTail(whole);
    if (end === whole.length) this.#rests.delete(stream);
    // A copy, because the ring will be overwritten.
    else this.#rests.set(stream, { offset: start + end, bytes: Buffer.from(whole.subarray(end)) });
    return end === 0 ? undefined : toChunk(stream, start, whole.subarray(0, end));
  }

  /** The number of bytes of the stream that are held back. */
  restOf(stream: StreamName): number {
    return this.#rests.get(stream)?.bytes.length ?? 0;
  }

  /** The incomplete characters as they are, when no further output will come. */
  flush(): OutputChunk[] {
    const rests = [...this.#rests];
    this.#rests.clear();
    return rests.map(([stream, { offset, bytes }]) => toChunk(stream, offset, bytes));
  }
}

function toChunk(stream_type: StreamName, offset: number, bytes: Buffer): OutputChunk {
  const { text = "", base64 } = encodeBytes(bytes);
  const chunk = { stream_type, offset, bytes: bytes.length, text };
  return base64 === undefined ? chunk : { ...chunk, base64 };
}
