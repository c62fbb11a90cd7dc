// Sends the output of a process to its agent, not faster than the agent receives it.

import type { z } from "zod";
import type { readEvent } from "../protocol.ts";
import type { OutputRing } from "./output-ring.ts";
import { type OutputChunk, OutputText } from "./output-text.ts";

export type ReadEvent = z.input<typeof readEvent.payload>;

/** An event without the ids of its process and request. */
export type FeedEvent = Omit<ReadEvent, "req_id" | "seq" | "proc_id">;

/** The functions of the session that a feed uses. */
export interface Audience {
  send(event: ReadEvent): void;
  /** Bytes that were sent but that the agent has not received yet. */
  unsentBytes(): number;
}

export interface FeedOptions {
  readonly ring: OutputRing;
  readonly audience: Audience;
  readonly procId: string;
  /** The request that these events belong to. */
  readonly reqId: string;
  /** The offset in the whole output at which it begins. */
  readonly cursor: number;
  readonly limits: { maxEventBytes: number; maxUnsentBytes: number; stallMs: number };
  /** The ring has room again, so the process may continue. */
  onRoom(): void;
}

const pollMs = 10;

export class Feed {
  readonly #options: FeedOptions;
  readonly #text = new OutputText();
  #cursor: number;
  #seq = 0;
  #end: FeedEvent | undefined;
  #timer: NodeJS.Timeout | undefined;
  #leastUnsent = Number.POSITIVE_INFINITY;
  #waitedMs = 0;
  #isClosed = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#cursor = options.cursor;
  }

  get cursor(): number {
    return this.#cursor;
  }

  /**
   * The ring is nearly full of output that the agent has not received, and the agent is still receiving: the process
   * should wait.
   */
  get isBehind(): boolean {
    const { ring, limits } = this.#options;
    return (
      this.#timer !== undefined && this.#waitedMs < limits.stallMs && ring.end - this.#cursor > ring.maxBytes * 0.75
    );
  }

  /** Sends available output, as far as the agent has room for it. */
  pump(): void {
    const { ring, limits } = this.#options;
    if (this.#timer !== undefined || this.#isClosed) return;
    while (this.#cursor < ring.end) {
      if (this.#mustWait()) return;
      if (this.#cursor < ring.start) this.#sayGap(ring.start);
      for (const piece of ring.read(this.#cursor, limits.maxEventBytes)) {
        const chunk = this.#text.take(piece);
        this.#cursor = piece.position + piece.bytes.length;
        if (chunk !== undefined) this.#sendOutput(chunk);
        // The receiver may have closed this feed.
        if (this.#isClosed) return;
      }
    }
    if (this.#end === undefined) return;
    for (const chunk of this.#text.flush()) this.#sendOutput(chunk);
    this.#send(this.#end);
    this.close();
  }

  /** Reports the end of the process once all output has been sent. */
  finish(end: FeedEvent): void {
    this.#end = end;
    this.pump();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #sayGap(to: number): void {
    for (const chunk of this.#text.flush()) this.#sendOutput(chunk);
    this.#send({ kind: "status", stream_type: "stdout", data: { gap: { from: this.#cursor, to } } });
    this.#cursor = to;
  }

  #sendOutput({ stream_type, offset, text, base64 }: OutputChunk): void {
    const data = base64 === undefined ? { text, offset } : { text, base64, offset };
    this.#send({ kind: "log", stream_type, data });
  }

  #send(event: FeedEvent): void {
    const { audience, procId, reqId } = this.#options;
    this.#seq += 1;
    audience.send({ ...event, req_id: reqId, seq: this.#seq, proc_id: procId });
  }

  #mustWait(): boolean {
    const { audience, limits } = this.#options;
    if (audience.unsentBytes() <= limits.maxUnsentBytes) return false;
    this.#leastUnsent = Number.POSITIVE_INFINITY;
    this.#waitedMs = 0;
    this.#timer = setInterval(() => this.#look(), pollMs);
    this.#timer.unref();
    return true;
  }

  /**
   * An agent that receives anything keeps its process waiting; an agent that receives nothing does so only for
   * `stallMs`.
   */
  #look(): void {
    const { audience, limits, onRoom } = this.#options;
    const unsent = audience.unsentBytes();
    this.#waitedMs = unsent < this.#leastUnsent ? 0 : this.#waitedMs + pollMs;
    this.#leastUnsent = unsent;
    if (unsent <= limits.maxUnsentBytes / 2) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.pump();
    }
    if (!this.isBehind) onRoom();
  }
}
