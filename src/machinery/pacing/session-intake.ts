// The queue of received lines of one session. A line is handled at once if the queue is empty, the slice of this turn has
// time left (`intake-schedule.ts`) and the peer reads its answers. Otherwise it is queued.
//
// Lines are handled strictly in order, including cancels and pings. A peer that does not read its answers can end its calls
// only by closing its connection or its session.
import type { Message } from "../../protocol/envelope.ts";
import { copyJson } from "../../protocol/json.ts";
import type { Limits } from "../../protocol/limits.ts";
import type { IntakeSchedule } from "./intake-schedule.ts";

/** Handles received lines, and calls `IntakeSchedule.note` for each of them. No method throws. */
interface IntakeHandler {
  receiveLine(line: string): void;
  receiveMessage(message: unknown): void;
  receiveTooLong(): void;
}

/** The state of the answers to the peer. */
interface AnswersPort {
  /** Bytes of answers that no reader has taken yet. */
  readonly untakenBytes: number;
  /** Calls back once, after a reader has taken or acknowledged lines, or a commit has released lines. */
  onceTaken(callback: () => void): void;
}

type IntakeLimits = Pick<Limits, "maxUnsentBytes" | "maxIntakeBytes">;

/** One entry of the queue: text with one or more lines, a message that was never text, or a line that was too long. */
interface Waiting {
  readonly text: string | undefined;
  /** The offset in `text` of the first line that was not handled. */
  at: number;
  readonly message: unknown;
  next: Waiting | undefined;
}

/** The size of a queue entry besides its text, so that many tiny lines also count. */
const entryBytes = 64;

/** The clock is read once per this many blank lines. */
const blanksPerLook = 1024;

const tooLong = Symbol("a line that was too long");

export class SessionIntake {
  readonly #schedule: IntakeSchedule;
  readonly #limits: IntakeLimits;
  readonly #handler: IntakeHandler;
  readonly #answers: AnswersPort;
  #first: Waiting | undefined;
  #last: Waiting | undefined;
  #waitingBytes = 0;
  /** The last turn in which this session was served. Each session may handle one line per turn even if no time is left. */
  #servedIn = -1;
  /** The queue waits until the peer has read answers, not for a slice. */
  #isPaused = false;
  #isClosed = false;
  /** Defined while `serve` runs: whether the session's share of the slice is over. */
  #isOver: (() => boolean) | undefined;
  #startCalls: (() => void) | undefined;
  #roomListeners: Set<() => void> | undefined;
  #emptyListeners: Set<() => void> | undefined;

  constructor(schedule: IntakeSchedule, limits: IntakeLimits, handler: IntakeHandler, answers: AnswersPort) {
    this.#schedule = schedule;
    this.#limits = limits;
    this.#handler = handler;
    this.#answers = answers;
  }

  /** The queue exceeds `maxIntakeBytes`: stop reading the peer's connection until `onceRoom` calls back. */
  get isFull(): boolean {
    return this.#waitingBytes > this.#limits.maxIntakeBytes;
  }

  /** Takes lines that are separated by newlines; blank lines are skipped. */
  receiveText(text: string): void {
    let at = 0;
    let blanks = 0;
    while (at < text.length && this.#mayHandle()) {
      let end = text.indexOf("\n", at);
      if (end === -1) end = text.length;
      const line = toLine(text, at, end);
      at = end + 1;
      if (line !== "") this.#handler.receiveLine(line);
      else if (++blanks % blanksPerLook === 0) this.#schedule.noteNow();
    }
    if (at < text.length) this.#wait(text.length - at, text, at);
  }

  /** Takes one line that is not blank. */
  receiveLine(line: string): void {
    if (this.#mayHandle()) this.#handler.receiveLine(line);
    else this.#wait(line.length, line);
  }

  /** Takes a message that was never text. The sender may change it afterwards, so it is copied if it is queued. */
  receiveMessage(message: Message): void {
    if (this.#mayHandle()) this.#handler.receiveMessage(message);
    else this.#waitCopied(message);
  }

  /** A line was longer than `maxLineBytes` and was skipped. */
  receiveTooLong(): void {
    if (this.#mayHandle()) this.#handler.receiveTooLong();
    else this.#wait(0, undefined, 0, tooLong);
  }

  /** Calls back once there is room, or the session has ended. Returns a function that stops waiting. */
  onceRoom(callback: () => void): () => void {
    this.#roomListeners ??= new Set();
    this.#roomListeners.add(callback);
    return () => void this.#roomListeners?.delete(callback);
  }

  /** Calls back once the queue is empty or the session has ended; synchronously if the queue is empty now. */
  onceEmpty(callback: () => void): void {
    if (this.#first === undefined) return callback();
    this.#emptyListeners ??= new Set();
    this.#emptyListeners.add(callback);
  }

  /** Handles queued lines for up to one slice, even if answers are unread. For a session that rejects them all. */
  flush(): void {
    const isOver = this.#schedule.slice();
    while (this.#first !== undefined && !isOver()) this.#handleFirst(this.#first);
    this.#report();
  }

  /** Drops the queue; later lines are ignored. Closing twice is allowed. */
  close(): void {
    this.#isClosed = true;
    this.#startCalls = undefined;
    this.#schedule.remove(this);
    this.#first = undefined;
    this.#last = undefined;
    this.#waitingBytes = 0;
    this.#report();
  }

  /** Whether a call that has waited for a slot may run in this turn. */
  mayStart(): boolean {
    if (this.#isUnread) return false;
    if (this.#isOver !== undefined) return !this.#isOver();
    this.#schedule.noteNow();
    return !this.#schedule.isUsedUp;
  }

  /** Calls back once, when a call that has waited for a slot may run. Only the last callback is kept. */
  onceMayStart(callback: () => void): void {
    this.#startCalls = callback;
    if (!this.#isPaused && this.#isOver === undefined) this.#schedule.add(this);
  }

  serve(isOver: () => boolean): boolean {
    this.#isOver = isOver;
    if (!this.#isUnread) {
      const startCalls = this.#startCalls;
      this.#startCalls = undefined;
      startCalls?.();
    }
    while (this.#first !== undefined && !this.#isUnread) {
      this.#handleFirst(this.#first);
      if (isOver()) break;
    }
    this.#isOver = undefined;
    this.#servedIn = this.#schedule.turn;
    this.#report();
    if (!this.#hasWork) return false;
    if (!this.#isUnread) return true;
    this.#isPaused = true;
    this.#answers.onceTaken(() => this.#resume());
    return false;
  }

  get #hasWork(): boolean {
    return this.#first !== undefined || this.#startCalls !== undefined;
  }

  #resume(): void {
    this.#isPaused = false;
    if (this.#hasWork) this.#schedule.add(this);
  }

  /** The peer has not read more than `maxUnsentBytes` of answers, so no further requests are handled for now. */
  get #isUnread(): boolean {
    return this.#answers.untakenBytes > this.#limits.maxUnsentBytes;
  }

  /** Whether a line that was just received can be handled at once. */
  #mayHandle(): boolean {
    if (this.#first !== undefined || this.#isUnread || this.#isClosed) return false;
    return !this.#schedule.isUsedUp || this.#isFirstOfTurn();
  }

  #isFirstOfTurn(): boolean {
    const { turn } = this.#schedule;
    const isFirst = this.#servedIn !== turn;
    this.#servedIn = turn;
    return isFirst;
  }

  /** Not part of `receiveMessage`, so that the engine can inline the common path. */
  #waitCopied(message: Message): void {
    let copy: unknown;
    try {
      copy = copyJson(message);
    } catch {
      // The message has no JSON form: the handler answers it with an error.
      return this.#handler.receiveMessage(message);
    }
    this.#wait(0, undefined, 0, copy);
  }

  #wait(bytes: number, text: string | undefined, at = 0, message?: unknown): void {
    if (this.#isClosed) return;
    const entry: Waiting = { text, at, message, next: undefined };
    if (this.#last === undefined) this.#first = entry;
    else this.#last.next = entry;
    this.#last = entry;
    this.#waitingBytes += entryBytes + bytes;
    if (!this.#isPaused) this.#schedule.add(this);
  }

  /** Handles one line, or skips up to `blanksPerLook` blank lines. */
  #handleFirst(entry: Waiting): void {
    const { text } = entry;
    if (text === undefined) {
      this.#shift(entry);
      if (entry.message === tooLong) this.#handler.receiveTooLong();
      else this.#handler.receiveMessage(entry.message);
      return;
    }
    let { at } = entry;
    let line = "";
    for (let blanks = 0; at < text.length && line === "" && blanks < blanksPerLook; blanks++) {
      let end = text.indexOf("\n", at);
      if (end === -1) end = text.length;
      line = toLine(text, at, end);
      at = end + 1;
    }
    this.#waitingBytes -= Math.min(at, text.length) - entry.at;
    entry.at = at;
    // Before the line is handled: its handler may close this session.
    if (at >= text.length) this.#shift(entry);
    if (line !== "") this.#handler.receiveLine(line);
  }

  #shift(entry: Waiting): void {
    this.#first = entry.next;
    if (entry.next === undefined) this.#last = undefined;
    this.#waitingBytes -= entryBytes;
  }

  #report(): void {
    if (this.#roomListeners !== undefined && !this.isFull) {
      const listeners = this.#roomListeners;
      this.#roomListeners = undefined;
      for (const callback of listeners) callback();
    }
    if (this.#emptyListeners !== undefined && this.#first === undefined) {
      const listeners = this.#emptyListeners;
      this.#emptyListeners = undefined;
      for (const callback of listeners) callback();
    }
  }
}

/** A line that begins with a brace is not trimmed: JSON allows trailing white space, including a carriage return. */
function toLine(text: string, start: number, end: number): string {
  const line = start === 0 && end === text.length ? text : text.slice(start, end);
  return line.charCodeAt(0) === 0x7b ? line : line.trim();
}
