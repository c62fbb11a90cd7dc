// Reads output for a request with a cursor.

import type { StreamName } from "../protocol.ts";
import type { OutputRing, Piece } from "./output-ring.ts";
import { type OutputChunk, OutputText } from "./output-text.ts";

export interface ReadRequest {
  readonly stream: StreamName | "all";
  readonly cursor: number;
  readonly max_bytes: number;
}

export interface ReadOutput {
  chunks: OutputChunk[];
  next_cursor: number;
  /** Bytes after the cursor that are no longer kept. */
  missed: number;
}

/**
 * An incomplete character is left for the next read, unless no more output will come, or `max_bytes` is too small to
 * ever get past it.
 */
export function readOutput(
  ring: OutputRing,
  { stream, cursor, max_bytes }: ReadRequest,
  hasEnded: boolean,
): ReadOutput {
  const end = ring.endOf(stream);
  const from = Math.min(cursor, end);
  const pieces = stream === "all" ? ring.read(from, max_bytes) : ring.readStream(stream, from, max_bytes);
  const placeOf = (piece: Piece) => (stream === "all" ? piece.position : piece.offset);
  const [first] = pieces;
  const last = pieces.at(-1);
  if (first === undefined || last === undefined) return { chunks: [], next_cursor: end, missed: end - from };
  const text = new OutputText();
  const chunks = pieces.flatMap((piece) => text.take(piece) ?? []);
  let next = placeOf(last) + last.bytes.length;
  const keptBack = text.restOf(last.stream);
  const canWait = (!hasEnded || next < end) && (chunks.length > 0 || next === end);
  // Going back further than the last piece would repeat the output between it and the piece before.
  if (keptBack > 0 && keptBack <= last.bytes.length && canWait) {
    next -= keptBack;
    chunks.push(...text.flush().filter(({ stream_type }) => stream_type !== last.stream));
  } else chunks.push(...text.flush());
  return { chunks, next_cursor: next, missed: Math.max(0, placeOf(first) - from) };
}
