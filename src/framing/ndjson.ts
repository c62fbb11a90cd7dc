// Lines out of a byte stream that may be cut anywhere, inside a character too.

export interface LineSplitter {
  push(chunk: Uint8Array): void;
  /** The stream has ended: a last line without newline counts. */
  end(): void;
}

interface LineSplitterOptions {
  maxLineBytes: number;
  onLine(line: string): void;
  /** Called once per line that grew past the limit; the rest of that line is skipped, not kept. */
  onTooLong(): void;
}

const newline = 0x0a;

const empty = new Uint8Array(0);

export function createLineSplitter({ maxLineBytes, onLine, onTooLong }: LineSplitterOptions): LineSplitter {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /**
   * The line so far, with room to grow: a peer that sends byte by byte must not cost an object per byte. Decoded only
   * when the line is whole, so that no character is ever cut.
   */
  let pending = empty;
  let pendingBytes = 0;
  let isSkipping = false;

  const emit = (bytes: Uint8Array) => {
    const line = decoder.decode(bytes).trim();
    if (line !== "") onLine(line);
  };

  /** Copies the piece: streams reuse their memory. */
  const keep = (piece: Uint8Array) => {
    if (isSkipping) return;
    const bytes = pendingBytes + piece.length;
    if (bytes > maxLineBytes) {
      pending = empty;
      pendingBytes = 0;
      isSkipping = true;
      return onTooLong();
    }
    if (bytes > pending.length) {
      const larger = new Uint8Array(Math.max(bytes, 2 * pending.length));
      larger.set(pending.subarray(0, pendingBytes));
      pending = larger;
    }
    pending.set(piece, pendingBytes);
    pendingBytes = bytes;
  };

  const finish = () => {
    const line = pending.subarray(0, pendingBytes);
    pending = empty;
    pendingBytes = 0;
    isSkipping = false;
    if (line.length > 0) emit(line);
  };

  return {
    push(chunk) {
      let start = 0;
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
        const piece = chunk.subarray(start, end);
        start = end + 1;
        // Most lines arrive whole and are decoded in place.
        if (pendingBytes === 0 && !isSkipping && piece.length <= maxLineBytes) emit(piece);
        else {
          keep(piece);
          finish();
        }
      }
      if (start < chunk.length) keep(chunk.subarray(start));
    },
    end: finish,
  };
}
