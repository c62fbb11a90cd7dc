// Lines out of decoded text. The streams of Node decode UTF-8 across cuts faster than anything that works on bytes here;
// for other streams, ndjson.ts splits bytes.

export interface TextLineSplitter {
  push(text: string): void;
  /** The stream has ended: a last line without newline counts. */
  end(): void;
}

interface TextLineSplitterOptions {
  maxLineLength: number;
  onLine(line: string): void;
  /** Called once per line that grew past the limit; the rest of that line is skipped, not kept. */
  onTooLong(): void;
}

export function createTextLineSplitter({
  maxLineLength,
  onLine,
  onTooLong,
}: TextLineSplitterOptions): TextLineSplitter {
  /** Joined only when the line is whole: a long line in many pieces stays linear. */
  let pieces: string[] = [];
  let pendingLength = 0;
  let isSkipping = false;

  const keep = (piece: string) => {
    if (isSkipping) return;
    pieces.push(piece);
    pendingLength += piece.length;
    if (pendingLength <= maxLineLength) return;
    pieces = [];
    pendingLength = 0;
    isSkipping = true;
    onTooLong();
  };
  const finish = () => {
    const line = pieces.length === 1 ? (pieces[0] as string) : pieces.join("");
    pieces = [];
    pendingLength = 0;
    isSkipping = false;
    emit(line);
  };
  const emit = (line: string) => {
    if (line.length > maxLineLength) return onTooLong();
    // A line that begins with a brace is JSON as it stands; others may be blank.
    const text = line.charCodeAt(0) === 0x7b ? line : line.trim();
    if (text !== "") onLine(text);
  };
  return {
    push(text) {
      let start = 0;
      for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
        if (pieces.length === 0 && !isSkipping) emit(text.slice(start, end));
        else {
          keep(text.slice(start, end));
          finish();
        }
        start = end + 1;
      }
      if (start < text.length) keep(start === 0 ? text : text.slice(start));
    },
    end: finish,
  };
}
