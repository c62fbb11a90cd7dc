// Journals one session: collects its lines and changes of a turn, passes them to the store as one unit, and releases the
// lines once the store reports that they are durable.
import type { JournalledLines, JournalledSession, SessionJournal, SessionOrigin } from "../../host/ports/journal.ts";
import type { SessionRecord } from "../../host/session/session-record.ts";
import type { LayeredState } from "../../machinery/state/layered-state.ts";
import type { Limits } from "../../protocol/limits.ts";
import {
  type CommitUnit,
  forgetSession,
  type JournalStore,
  type SessionTurn,
  type WrittenState,
} from "./journal-store.ts";
import { RecentLines } from "./recent-lines.ts";

/** The record contains the time of the last activity, which need not be exact: it is rewritten after this many lines. */
const linesPerRecord = 2048;

export type JournalLimits = Pick<
  Limits,
  "maxOutboundLines" | "maxOutboundBytes" | "maxRememberedAnswers" | "maxRememberedBytes"
>;

/** Fields are added one by one: an object made by spreading costs most of a microsecond in Node 20. */
type TurnInProgress = { -readonly [Field in keyof SessionTurn]: SessionTurn[Field] };

type Callback = (error?: Error) => void;

/** A unit that the store has taken and for which it has not called `ended` yet. */
interface Flight {
  readonly lines: readonly string[];
  readonly bytes: number;
  readonly lastSeq: number;
  readonly callbacks: Callback[];
  readonly companions: (() => void)[];
  /** Forks whose first turn is part of the unit. */
  readonly forks: readonly JournalEntry[];
}

export class JournalEntry implements SessionJournal, JournalledLines, CommitUnit {
  readonly #store: JournalStore;
  readonly #limits: JournalLimits;
  readonly #session: JournalledSession;
  readonly #tracked = new Map<string, LayeredState>();
  readonly #unacknowledged: RecentLines;
  readonly #remembered: RecentLines;
  // The content of the next unit.
  #lines: string[] = [];
  #bytes = 0;
  #callbacks: Callback[] = [];
  /** To call while the unit is written. */
  #companions: (() => void)[] = [];
  /** Turns that end with a split, each followed by the forks that begin with its state. */
  #splits: (SessionTurn | JournalEntry)[] = [];
  #isTouched: boolean;
  #isScheduled = false;
  readonly #flights: Flight[] = [];
  #bytesInFlight = 0;
  /** The record that was written last. */
  #written: SessionRecord | undefined;
  /** True until a turn with the record was created. */
  #isNew: boolean;
  /** For a fork, until its first record was added to a turn: the id of its parent. */
  #forkOf: string | undefined;
  /** True for a fork until the unit of its parent that contains it is durable. Until then it commits no units itself. */
  #isUnborn = false;
  /** Numbers of the last line that was taken, released, acknowledged, and taken when the record was last written. */
  #lastSeq: number;
  #releasedSeq: number;
  #acknowledged: number;
  #recordedSeq: number;
  /** Whether the state may have changed since the last split. */
  #isChanged: boolean;
  /** Forgotten or lost: no further turns are written. */
  #isEnded = false;
  /** Lost, but `lost` of the session was not called yet. */
  #isLosing = false;
  #error: Error | undefined;

  constructor(store: JournalStore, limits: JournalLimits, session: JournalledSession, origin?: SessionOrigin) {
    const { lastSeq = 0, acknowledged = 0, forkOf } = origin ?? {};
    this.#store = store;
    this.#limits = limits;
    this.#session = session;
    this.#lastSeq = lastSeq;
    this.#releasedSeq = lastSeq;
    this.#recordedSeq = lastSeq;
    this.#acknowledged = acknowledged;
    this.#isNew = origin === undefined || forkOf !== undefined;
    this.#isTouched = this.#isNew;
    this.#written = this.#isNew ? undefined : origin?.record;
    this.#isChanged = !this.#isNew;
    const { maxOutboundLines: maxLines, maxOutboundBytes: maxBytes, maxRememberedBytes } = limits;
    this.#unacknowledged = new RecentLines({ maxLines, maxBytes }, acknowledged);
    // The number of lines that are remembered is limited by the store.
    this.#remembered = new RecentLines({ maxLines: Number.POSITIVE_INFINITY, maxBytes: maxRememberedBytes }, 0);
    if (forkOf instanceof JournalEntry) forkOf.#addFork(this);
  }

  get lines(): JournalledLines {
    return this;
  }

  get waitingBytes(): number {
    return this.#bytes + this.#bytesInFlight;
  }

  append(line: string): void {
    this.#schedule();
    this.#lines.push(line);
    this.#bytes += line.length;
  }

  acknowledge(seq: number): void {
    // Not committed separately: if it is lost in a crash, the peer receives some lines twice.
    if (seq > this.#acknowledged && seq <= this.#releasedSeq) this.#acknowledged = seq;
  }

  committed(callback: Callback): void {
    const isWaiting = this.#isEnded ? this.#isLosing : this.#isScheduled || this.#isUnborn;
    const last = this.#flights.at(-1);
    if (isWaiting) this.#callbacks.push(callback);
    else if (last !== undefined) last.callbacks.push(callback);
    else callback(this.#error);
  }

  writtenWith(callback: () => void): void {
    if (this.#isLosing || this.#error !== undefined) return;
    if (!this.#isEnded && (this.#isScheduled || this.#isUnborn)) this.#companions.push(callback);
    else callback();
  }

  writing(): void {
    const flight = this.#flights.at(-1);
    if (flight === undefined) return;
    for (const companion of flight.companions.splice(0)) companion();
    for (const fork of flight.forks) fork.writing();
  }

  track(plugin: string, state: LayeredState): void {
    this.#tracked.set(plugin, state);
    state.track(() => this.#schedule());
  }

  touch(): void {
    this.#isTouched = true;
    this.#schedule();
  }

  forget(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#attach(this.#callbacks.splice(0));
    for (const companion of this.#companions.splice(0)) companion();
    this.#store.commit(forgetSession(this.#session.id));
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isEnded || this.#isUnborn) return;
    this.#isScheduled = true;
    this.#store.commit(this);
  }

  /** `fork` begins with the current state of this session. */
  #addFork(fork: JournalEntry): void {
    if (this.#isEnded) throw this.#error ?? new Error("the session has ended");
    this.#schedule();
    let changes: WrittenState[];
    try {
      changes = writeStates(this.#tracked);
    } catch (error) {
      this.#loseSoon(error as Error);
      throw error;
    }
    const isSplit = this.#isChanged || this.#isNew || changes.length > 0;
    // A unit with a fork also contains a turn of the parent, so that the store orders it with the parent's other units.
    if (isSplit || this.#splits.length === 0) {
      const turn = this.#addRecord(this.#createTurn([], changes));
      if (isSplit) turn.isSplit = true;
      this.#splits.push(turn);
      this.#isChanged = false;
    }
    fork.#forkOf = this.#session.id;
    fork.#isUnborn = true;
    this.#splits.push(fork);
  }

  take(): readonly SessionTurn[] {
    const turns: SessionTurn[] = [];
    this.#takeInto(turns);
    return turns;
  }

  #takeInto(turns: SessionTurn[]): void {
    this.#isScheduled = false;
    // If the session was forgotten in this turn, its forks are still committed.
    if (this.#isEnded) return this.#isLosing ? undefined : this.#takeSplits(turns);
    let changes: WrittenState[];
    try {
      changes = writeStates(this.#tracked);
    } catch (error) {
      // Only this session is lost, not the others in the same transaction.
      return this.#loseSoon(error as Error);
    }
    const first = turns.length;
    const forks = this.#splits.length === 0 ? noForks : this.#takeForks(turns);
    const [lines, bytes, callbacks, companions] = [this.#lines, this.#bytes, this.#callbacks, this.#companions];
    this.#lines = [];
    this.#bytes = 0;
    this.#callbacks = [];
    if (companions.length > 0) this.#companions = [];
    // After a recovery or a repeated handshake, the record is usually unchanged.
    if (this.#isTouched && isSame(this.#written, this.#session.readRecord())) this.#isTouched = false;
    this.#isTouched ||= this.#lastSeq + lines.length - this.#recordedSeq >= linesPerRecord;
    if (lines.length > 0 || changes.length > 0 || this.#isTouched) turns.push(this.#finishTurn(lines, bytes, changes));
    if (turns.length === first) {
      for (const companion of companions) companion();
      return this.#attach(callbacks);
    }
    this.#bytesInFlight += bytes;
    this.#flights.push({ lines, bytes, lastSeq: this.#lastSeq, callbacks, companions, forks });
  }

  #takeSplits(turns: SessionTurn[]): void {
    if (this.#splits.length === 0) return;
    const forks = this.#takeForks(turns);
    this.#flights.push({ lines: [], bytes: 0, lastSeq: this.#lastSeq, callbacks: [], companions: [], forks });
  }

  #takeForks(turns: SessionTurn[]): readonly JournalEntry[] {
    const forks: JournalEntry[] = [];
    for (const split of this.#splits.splice(0)) {
      if (!(split instanceof JournalEntry)) turns.push(split);
      else {
        forks.push(split);
        split.#takeInto(turns);
      }
    }
    return forks;
  }

  #finishTurn(lines: readonly string[], bytes: number, changes: readonly WrittenState[]): SessionTurn {
    this.#isChanged ||= changes.length > 0;
    this.#lastSeq += lines.length;
    this.#acknowledged = Math.max(this.#acknowledged, this.#unacknowledged.add(bytes, this.#lastSeq));
    const outdated = this.#remembered.add(bytes, this.#lastSeq);
    const turn = this.#createTurn(lines, changes);
    if (outdated > this.#lastSeq - this.#limits.maxRememberedAnswers) turn.outdated = outdated;
    return this.#isTouched ? this.#addRecord(turn) : turn;
  }

  #addRecord(turn: TurnInProgress): TurnInProgress {
    turn.record = this.#session.readRecord();
    this.#written = turn.record;
    if (this.#forkOf !== undefined) turn.forkOf = this.#forkOf;
    this.#forkOf = undefined;
    this.#isNew = false;
    this.#isTouched = false;
    this.#recordedSeq = this.#lastSeq;
    return turn;
  }

  #createTurn(lines: readonly string[], changes: readonly WrittenState[]): TurnInProgress {
    return { session: this.#session.id, lines, lastSeq: this.#lastSeq, acknowledged: this.#acknowledged, changes };
  }

  ended(error?: Error): void {
    const flight = this.#flights.shift();
    if (flight === undefined) return;
    this.#bytesInFlight -= flight.bytes;
    this.#releasedSeq = flight.lastSeq;
    // Before the answer that contains the id of the fork is sent.
    for (const fork of flight.forks) fork.#born(error);
    if (error !== undefined) this.#lose(error);
    else if (flight.lines.length > 0 && this.#error === undefined) this.#session.released(flight.lines);
    this.#callBack(flight.callbacks, error);
  }

  #born(error: Error | undefined): void {
    this.#isUnborn = false;
    if (this.#flights.length > 0) this.ended(error);
    else if (error !== undefined) this.#lose(error);
    // Commits the lines and changes that the fork has made meanwhile.
    this.#schedule();
  }

  /** `lost` is called later, as for a failed commit, because the session may be in the middle of a call now. */
  #loseSoon(error: Error): void {
    this.#isEnded = true;
    this.#isLosing = true;
    setImmediate(() => this.#lose(error));
  }

  #lose(error: Error): void {
    if (this.#error !== undefined) return;
    this.#isEnded = true;
    this.#isLosing = false;
    this.#error = error;
    for (const split of this.#splits.splice(0)) if (split instanceof JournalEntry) split.#born(error);
    this.#session.lost(error);
    this.#callBack(this.#callbacks.splice(0), error);
  }

  #attach(callbacks: readonly Callback[]): void {
    for (const callback of callbacks) this.committed(callback);
  }

  #callBack(callbacks: readonly Callback[], error: Error | undefined): void {
    for (const callback of callbacks) callback(error);
  }
}

/** Whether records differ at most in the time of the last activity. */
function isSame(one: SessionRecord | undefined, other: SessionRecord): boolean {
  const { lastActiveAt } = other;
  return one !== undefined && JSON.stringify({ ...one, lastActiveAt }) === JSON.stringify(other);
}

const noForks: readonly JournalEntry[] = [];

/** The changes of all states since the previous call, as JSON. Throws if a value has no JSON form. */
function writeStates(states: ReadonlyMap<string, LayeredState>): WrittenState[] {
  const written: WrittenState[] = [];
  for (const [plugin, state] of states) {
    for (const { key, value } of state.takeChanges()) {
      const json = value === undefined ? undefined : JSON.stringify(value);
      if (typeof key !== "string" || (value !== undefined && json === undefined))
        throw new TypeError(`plugin "${plugin}": the state has a key or a value without a JSON form`);
      written.push([plugin, key, json]);
    }
  }
  return written;
}
