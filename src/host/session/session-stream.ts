// The outgoing lines of a session as an async iterator.
import type { OutboundLine, Reader } from "../outbound/outbound-log.ts";

interface StreamedSession {
  readonly status: string;
  attach(from: number, wake: () => void): Reader;
  onClosed(listener: () => void): () => void;
}

export interface StreamOptions {
  /** The stream begins after the line with this sequence number. */
  from?: number;
  signal?: AbortSignal;
}

/** Ends when the session closes or the signal aborts. */
export async function* streamSession(
  session: StreamedSession,
  maxBytes: number,
  { from = 0, signal }: StreamOptions,
): AsyncGenerator<OutboundLine, void> {
  let wake = () => {};
  const reader = session.attach(from, () => wake());
  const stop = () => wake();
  signal?.addEventListener("abort", stop);
  const forget = session.onClosed(stop);
  try {
    while (signal?.aborted !== true) {
      const lines = reader.read(maxBytes);
      if (lines.length > 0) {
        yield* lines;
        continue;
      }
      // Nothing may be awaited between the read and the wait: a wake in between would be lost.
      if (session.status === "closed") return;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    reader.close();
    signal?.removeEventListener("abort", stop);
    forget();
  }
}
