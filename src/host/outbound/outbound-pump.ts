// Moves what a session says to one sink, no faster than the sink takes it. Every door with a wire has one per reader.
import type { OutboundLine, Reader } from "./outbound-log.ts";

/** What a pump needs of a session. */
export interface OutboundSource {
  attach(from: number, wake: () => void): Reader;
  onClosed(listener: () => void): () => void;
}

interface Sink {
  /** Takes all lines of one turn; false means that it wants no more until `resume`. */
  write(lines: readonly OutboundLine[]): boolean;
  /** The session is closed and its last line was written. */
  ended(): void;
}

export interface OutboundPump {
  /** The number of the line before the first one that is read: where the log really began, whatever was asked for. */
  readonly start: number;
  /** The sink has drained. */
  resume(): void;
  /** Stops reading; `ended` is not called afterwards. */
  close(): void;
}

/** Throws where the session is closed already. */
export function createOutboundPump(source: OutboundSource, from: number, maxBytes: number, sink: Sink): OutboundPump {
  let isBlocked = false;
  let isEnding = false;
  let isClosed = false;
  const reader = source.attach(from, pump);
  const start = reader.cursor;
  const forget = source.onClosed(() => {
    isEnding = true;
    pump();
  });
  return {
    start,
    resume() {
      isBlocked = false;
      pump();
    },
    close,
  };

  function pump(): void {
    if (isClosed) return;
    while (!isBlocked) {
      const lines = reader.read(maxBytes);
      if (lines.length === 0) break;
      isBlocked = !sink.write(lines);
      if (isClosed) return;
    }
    if (isBlocked || !isEnding) return;
    close();
    sink.ended();
  }

  function close(): void {
    if (isClosed) return;
    isClosed = true;
    reader.close();
    forget();
  }
}
