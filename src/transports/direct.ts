// Agent and host in one process. Nothing is serialised and nothing is copied here: each side takes what it receives
// through a table, which makes fresh values of it, before `send` returns. So neither can reach into the other's objects.
// An answer that the host has just taken through its table is handed over as it is: doing so twice would change nothing.
// The host keeps it for a repetition of the request, so an agent that writes to it changes what it is itself told again.

import type { Message } from "../protocol/envelope.ts";
import type { CheckedAnswer } from "../protocol/table/checked-answer.ts";
import type { Transport, TransportEvents } from "../protocol/transport.ts";

/** What the transport needs of a session; `Session` of the host is one. */
export interface DirectSession {
  /** Takes a message before it returns: handles it, or copies it if it has to wait for the next turn. */
  readonly intake: {
    receiveMessage(message: Message): void;
    /** Calls back once no message waits, at once if none does. */
    onceEmpty(callback: () => void): void;
  };
  bindTransport(end: {
    deliver(message: Message): void;
    answer?(answer: CheckedAnswer): void;
    closed(): void;
  }): () => void;
  /** What it has said and keeps for an agent that may not have it: nothing where sessions are not written down. */
  readonly unsentBytes: number;
  readonly lastSeq: number;
  acknowledge(seq: number): void;
  close(reason?: string): Promise<void>;
}

/** An agent in process has whatever it was handed, and says so when that is worth forgetting. */
const maxUnacknowledgedBytes = 64 * 1024;

/** `openSession` is called once, when the transport is opened. */
export function createDirectTransport(openSession: () => DirectSession | Promise<DirectSession>): Transport {
  let session: DirectSession | undefined;
  let unbind = () => {};
  let isOpening = false;
  let isClosed = false;
  let closing: Promise<void> | undefined;

  return {
    async open(events: TransportEvents) {
      if (isClosed || isOpening) throw new Error("transport was opened already");
      isOpening = true;
      const opened = await openSession();
      // The transport may have been closed while the session was recovered.
      if (isClosed) {
        await opened.close("agent left");
        throw new Error("transport was closed");
      }
      session = opened;
      unbind = opened.bindTransport({
        deliver: (message) => {
          if (isClosed) return;
          events.receive(message);
          if (opened.unsentBytes > maxUnacknowledgedBytes) opened.acknowledge(opened.lastSeq);
        },
        ...(events.answer === undefined
          ? {}
          : {
              answer: (answer) => {
                if (!isClosed) events.answer?.(answer);
              },
            }),
        closed: () => queueMicrotask(() => finish(events)),
      });
    },
    send(message) {
      if (session === undefined || isClosed) throw new Error("transport is not open");
      session.intake.receiveMessage(message);
    },
    close() {
      closing ??= close();
      return closing;
    },
  };

  async function close(): Promise<void> {
    if (isClosed) return;
    isClosed = true;
    const opened = session;
    if (opened === undefined) return;
    await new Promise<void>((resolve) => opened.intake.onceEmpty(resolve));
    unbind();
    await opened.close("agent left");
  }

  function finish(events: TransportEvents): void {
    if (isClosed) return;
    isClosed = true;
    events.closed(new Error("the host closed the session"));
  }
}
