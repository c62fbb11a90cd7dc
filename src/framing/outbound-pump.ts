// Writes the outgoing lines of a session to a sink, with backpressure. Transports create a pump for each reader.

/** The part of a session that a pump uses. `Line` is the form of its outgoing lines. */
export interface OutboundSource<Line> {
  attach(from: number, wake: () => void): { read(maxBytes: number): readonly Line[]; cursor: number; close(): void };
  onClosed(listener: () => void): () => void;
}

interface Sink<Line> {
  /** Returns false if the sink is full: `write` is not called again before `resume`. */
  write(lines: readonly Line[]): boolean;
  /** The session is closed and its last line was written. */
  ended(): void;
}

export interface OutboundPump {
  /** The number of the line before the first line that is read. May differ from the requested `from` if that is invalid. */
  readonly start: number;
  /** The sink has drained. */
  resume(): void;
  /** Stops reading; `ended` is not called afterwards. */
  close(): void;
}

/** Throws if the session is closed. */
export function createOutboundPump<Line>(
  source: OutboundSource<Line>,
  from: number,
  maxBytes: number,
  sink: Sink<Line>,
): OutboundPump {
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
