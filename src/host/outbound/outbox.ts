// Sends the messages of a session to a transport in this process, or appends them to the outbound log for readers.

import { createMessage, encodeMessage } from "../../protocol/codec.ts";
import { gap } from "../../protocol/core.ts";
import type { IdSource, Message } from "../../protocol/envelope.ts";
import { CheckedAnswer } from "../../protocol/table/checked-answer.ts";
import type { Answer } from "../calls/call-table.ts";
import type { Kernel } from "../kernel.ts";
import type { JournalledLines } from "../ports/journal.ts";
import type { SessionScope } from "../session/session-scope.ts";
import { OutboundLog, type Reader } from "./outbound-log.ts";

/** The host's end of a transport in the same process: receives messages as objects, and answers before encoding. */
export interface DirectEnd {
  deliver(message: Message): void;
  answer?(answer: CheckedAnswer): void;
  closed(): void;
}

/** The services of the host that an outbox uses. Gap notices are not part of a recording, so they use the host's ids. */
type OutboxHost = Pick<Kernel, "limits" | "log" | "clock" | "nextId">;

type OutboxScope = Pick<SessionScope, "tap" | "lastActiveAt"> & { readonly info: { readonly handle: string } };

export class Outbox {
  readonly #host: OutboxHost;
  readonly #scope: OutboxScope;
  /** Makes lines durable before they are sent; absent if the session ends with the process. */
  readonly #journal: JournalledLines | undefined;
  #direct: DirectEnd | undefined;
  /** Created for the first reader, or for a message without a receiver. An agent in this process does not need it. */
  #log: OutboundLog | undefined;
  #takenListener: (() => void) | undefined;
  /** How many lines were appended to the journal and released by it, and the indexes of the asides among them. */
  #journalledLines = 0;
  #releasedLines = 0;
  #journalledAsides: number[] = [];

  constructor(host: OutboxHost, scope: OutboxScope, journal?: JournalledLines) {
    this.#host = host;
    this.#scope = scope;
    this.#journal = journal;
  }

  get readerCount(): number {
    return (this.#log?.readerCount ?? 0) + (this.#direct === undefined ? 0 : 1);
  }

  get lastSeq(): number {
    return this.#log?.lastSeq ?? 0;
  }

  /** Bytes of lines that some reader has not read or that are not durable yet. */
  get unsentBytes(): number {
    return (this.#log?.unsentBytes ?? 0) + (this.#journal?.waitingBytes ?? 0);
  }

  /**
   * Bytes of answers that no reader has taken, and of all lines that wait for the journal. An agent in this process takes
   * every message at once. Events in the log do not count: if a program prints faster than its agent reads, the agent must
   * still be able to cancel it.
   */
  get untakenBytes(): number {
    const inLog = this.#direct === undefined ? (this.#log?.untakenBytes ?? 0) : 0;
    return inLog + (this.#journal?.waitingBytes ?? 0);
  }

  /** Calls back once, after lines were taken, acknowledged or released by the journal. */
  onceTaken(callback: () => void): void {
    this.#takenListener = callback;
  }

  #noteTaken(): void {
    const listener = this.#takenListener;
    this.#takenListener = undefined;
    listener?.();
  }

  /** Sends a message that is not an answer: an event, a push or a question. */
  sendAside(message: Message): string | Message {
    return this.send(message, true);
  }

  /** Returns the form of the message to remember for `resend`. Throws if the message has no JSON form. */
  send(message: Message, isAside = false): string | Message {
    this.#scope.tap?.sent(encodeMessage(message));
    return this.#send(message, isAside);
  }

  #send(message: Message, isAside: boolean): string | Message {
    const journal = this.#journal;
    if (journal !== undefined) return this.#sendDurably(journal, encodeMessage(message), isAside);
    if (this.#direct !== undefined && this.#log === undefined) {
      this.#deliver(this.#direct, message);
      return message;
    }
    const line = encodeMessage(message);
    if (this.#direct !== undefined) this.#deliver(this.#direct, message);
    this.#lines().append(line, isAside);
    return line;
  }

  /** Like `send`, for an answer. It is converted to a message only if the receiver does not accept a CheckedAnswer. */
  answer(answer: CheckedAnswer, nextId: IdSource): Answer {
    const direct = this.#direct;
    const isWritten = this.#log !== undefined || this.#journal !== undefined || this.#scope.tap !== undefined;
    if (direct?.answer === undefined || isWritten) return this.send(answer.toMessage(nextId()));
    try {
      direct.answer(answer);
    } catch (error) {
      this.#deliveryFailed(error);
    }
    return answer;
  }

  /** The line is sent once it is durable: an answer that a peer has received must survive a crash. */
  #sendDurably(journal: JournalledLines, line: string, isAside: boolean): string {
    journal.append(line);
    if (isAside) this.#journalledAsides.push(this.#journalledLines);
    this.#journalledLines += 1;
    return line;
  }

  /** Sends lines that are durable. */
  released(lines: readonly string[]): void {
    if (this.#direct !== undefined) for (const line of lines) this.#deliver(this.#direct, JSON.parse(line) as Message);
    const before = this.#releasedLines;
    this.#releasedLines += lines.length;
    this.#lines().appendAll(lines, (index) => this.#shiftAside(before + index));
    this.#noteTaken();
  }

  /** Whether this journalled line is an aside; removes the mark. Called in the order of the lines. */
  #shiftAside(index: number): boolean {
    if (this.#journalledAsides[0] !== index) return false;
    this.#journalledAsides.shift();
    return true;
  }

  /** Restores lines of an earlier process; the last line has the number `lastSeq`. */
  recover(lines: readonly string[], lastSeq: number): void {
    this.#lines().recover(lines, lastSeq);
  }

  #deliver(end: DirectEnd, message: Message): void {
    try {
      end.deliver(message);
    } catch (error) {
      this.#deliveryFailed(error);
    }
  }

  /** Sends an answer again, for a repeated request. */
  resend(answer: Answer, nextId: IdSource): void {
    if (answer instanceof CheckedAnswer) return void this.answer(answer, nextId);
    if (typeof answer !== "string") return void this.send(answer);
    this.#scope.tap?.sent(answer);
    const journal = this.#journal;
    if (journal !== undefined) this.#sendDurably(journal, answer, false);
    else if (this.#direct !== undefined) this.#send(JSON.parse(answer) as Message, false);
    else this.#lines().append(answer);
  }

  /** Binds a transport in this process, and closes the transport that was bound before. */
  bind(end: DirectEnd): () => void {
    this.#direct?.closed();
    this.#direct = end;
    return () => {
      if (this.#direct !== end) return;
      this.#direct = undefined;
      this.#detached();
    };
  }

  attach(from: number, wake: () => void): Reader {
    return this.#lines().attach(from, wake, () => this.#detached());
  }

  acknowledge(seq: number): void {
    if (!Number.isSafeInteger(seq)) return;
    this.#log?.acknowledge(seq);
    this.#journal?.acknowledge(seq);
  }

  /** Closes the transport in this process. Readers of lines learn of the end from the session. */
  close(): void {
    this.#direct?.closed();
    this.#direct = undefined;
  }

  #detached(): void {
    this.#scope.lastActiveAt = this.#host.clock.now();
  }

  /** The transport in this process threw; the message counts as sent. */
  #deliveryFailed(error: unknown): void {
    this.#host.log.error("a transport failed", { session: this.#scope.info.handle, error });
  }

  #lines(): OutboundLog {
    const { limits, nextId, clock } = this.#host;
    this.#log ??= new OutboundLog({
      limits,
      createGap: (from, to) => createMessage(gap.type, nextId(), clock.now(), { from, to }),
      onTaken: () => this.#noteTaken(),
    });
    return this.#log;
  }
}
