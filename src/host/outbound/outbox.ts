// What a session says, and to whom: a transport of this process, readers of its outbound log, or nobody yet.

import { encodeMessage } from "../../protocol/codec.ts";
import type { IdSource, Message } from "../../protocol/envelope.ts";
import type { Limits } from "../../protocol/limits.ts";
import { CheckedAnswer } from "../../protocol/table/checked-answer.ts";
import type { Answer } from "../calls/call-table.ts";
import type { JournalledLines } from "../ports/journal.ts";
import type { SessionTap } from "../session/session-tap.ts";
import { OutboundLog, type Reader } from "./outbound-log.ts";

/** The host's end of a transport in the same process: takes messages as they are, and answers before they are messages. */
export interface DirectEnd {
  deliver(message: Message): void;
  answer?(answer: CheckedAnswer): void;
  closed(): void;
}

/** What the outbox needs of its session. */
export interface OutboxPort {
  createGap(from: number, to: number): Message;
  /** Somebody stopped listening. */
  onDetached(): void;
  /** The transport of this process threw; what was said counts as said. */
  onDeliveryFailed(error: unknown): void;
}

export class Outbox {
  readonly #port: OutboxPort;
  readonly #limits: Limits;
  /** Where lines are written before they are sent; absent if the session ends with the process. */
  readonly #journal: JournalledLines | undefined;
  readonly #tap: SessionTap | undefined;
  #direct: DirectEnd | undefined;
  /** Made when somebody reads lines, or when there is nobody to take a message: an agent in process never needs it. */
  #log: OutboundLog | undefined;
  #takenListener: (() => void) | undefined;
  /** How many lines were appended to the journal and released by it, and which of them are asides. */
  #journalledLines = 0;
  #releasedLines = 0;
  #journalledAsides: number[] = [];

  constructor(port: OutboxPort, limits: Limits, journal?: JournalledLines, tap?: SessionTap) {
    this.#tap = tap;
    this.#port = port;
    this.#limits = limits;
    this.#journal = journal;
  }

  get readerCount(): number {
    return (this.#log?.readerCount ?? 0) + (this.#direct === undefined ? 0 : 1);
  }

  get lastSeq(): number {
    return this.#log?.lastSeq ?? 0;
  }

  /** What was said and nobody has taken yet. An agent in process takes everything at once. */
  get unsentBytes(): number {
    return (this.#log?.unsentBytes ?? 0) + (this.#journal?.waitingBytes ?? 0);
  }

  /**
   * Bytes of answers that no reader has taken, and of all lines that wait for the journal. An agent in process takes
   * everything at once. Events are left out once they are in the log: a program that prints faster than its agent reads
   * must not keep the agent from stopping it.
   */
  get untakenBytes(): number {
    const inLog = this.#direct === undefined ? (this.#log?.untakenBytes ?? 0) : 0;
    return inLog + (this.#journal?.waitingBytes ?? 0);
  }

  /** Calls back once, after lines were taken, acknowledged or released by the journal. */
  onceTaken(callback: () => void): void {
    this.#takenListener = callback;
  }

  readonly #noteTaken = (): void => {
    const listener = this.#takenListener;
    this.#takenListener = undefined;
    listener?.();
  };

  /** Sends what answers no request: an event, a push, a question. */
  sendAside(message: Message): string | Message {
    const sent = this.send(message);
    if (this.#journal !== undefined) this.#journalledAsides.push(this.#journalledLines - 1);
    else this.#log?.markAside(this.#log.lastSeq);
    return sent;
  }

  /** Returns what to keep of the message, should it have to be said again. Throws where it has no JSON form. */
  send(message: Message): string | Message {
    this.#tap?.sent(encodeMessage(message));
    return this.#send(message);
  }

  #send(message: Message): string | Message {
    const journal = this.#journal;
    if (journal !== undefined) return this.#sendDurably(journal, encodeMessage(message));
    if (this.#direct !== undefined && this.#log === undefined) {
      this.#deliver(this.#direct, message);
      return message;
    }
    const line = encodeMessage(message);
    if (this.#direct !== undefined) this.#deliver(this.#direct, message);
    this.#lines().append(line);
    return line;
  }

  /** The same for an answer, which becomes a message only for those who cannot take it as it is. */
  answer(answer: CheckedAnswer, nextId: IdSource): Answer {
    const direct = this.#direct;
    const isWritten = this.#log !== undefined || this.#journal !== undefined || this.#tap !== undefined;
    if (direct?.answer === undefined || isWritten) return this.send(answer.toMessage(nextId()));
    try {
      direct.answer(answer);
    } catch (error) {
      this.#port.onDeliveryFailed(error);
    }
    return answer;
  }

  /** The line is sent once it is durable: an answer that a peer has seen must still be true after a crash. */
  #sendDurably(journal: JournalledLines, line: string): string {
    journal.append(line);
    this.#journalledLines += 1;
    return line;
  }

  /** Sends lines that are durable. */
  released(lines: readonly string[]): void {
    if (this.#direct !== undefined) for (const line of lines) this.#deliver(this.#direct, JSON.parse(line) as Message);
    const log = this.#lines();
    log.appendAll(lines);
    const seqBefore = log.lastSeq - lines.length - this.#releasedLines;
    this.#releasedLines += lines.length;
    while ((this.#journalledAsides[0] ?? this.#releasedLines) < this.#releasedLines)
      log.markAside(seqBefore + (this.#journalledAsides.shift() as number) + 1);
    this.#noteTaken();
  }

  /** Takes over lines of an earlier process; the last one has the number `lastSeq`. */
  recover(lines: readonly string[], lastSeq: number): void {
    this.#lines().recover(lines, lastSeq);
  }

  #deliver(end: DirectEnd, message: Message): void {
    try {
      end.deliver(message);
    } catch (error) {
      this.#port.onDeliveryFailed(error);
    }
  }

  /** Sends an answer again, to a peer that has sent its request again. */
  resend(answer: Answer, nextId: IdSource): void {
    if (answer instanceof CheckedAnswer) return void this.answer(answer, nextId);
    if (typeof answer !== "string") return void this.send(answer);
    this.#tap?.sent(answer);
    const journal = this.#journal;
    if (journal !== undefined) this.#sendDurably(journal, answer);
    else if (this.#direct !== undefined) this.#send(JSON.parse(answer) as Message);
    else this.#lines().append(answer);
  }

  /** There is one at a time: whoever was there before is told that it is over. */
  bind(end: DirectEnd): () => void {
    this.#direct?.closed();
    this.#direct = end;
    return () => {
      if (this.#direct !== end) return;
      this.#direct = undefined;
      this.#port.onDetached();
    };
  }

  attach(from: number, wake: () => void): Reader {
    return this.#lines().attach(from, wake, () => this.#port.onDetached());
  }

  acknowledge(seq: number): void {
    if (!Number.isSafeInteger(seq)) return;
    this.#log?.acknowledge(seq);
    this.#journal?.acknowledge(seq);
  }

  /** Tells a transport of this process that nothing more will come. Readers of lines see it from the session. */
  close(): void {
    this.#direct?.closed();
    this.#direct = undefined;
  }

  #lines(): OutboundLog {
    this.#log ??= new OutboundLog({
      limits: this.#limits,
      createGap: (from, to) => this.#port.createGap(from, to),
      onTaken: this.#noteTaken,
    });
    return this.#log;
  }
}
