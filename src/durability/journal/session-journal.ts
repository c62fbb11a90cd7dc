// Sessions that outlive the process. What a session says and what its plugins keep is written together, once per turn,
// and no line leaves before that is durable: what a peer has seen has happened.

import type { Database, TurnLog } from "../../host/ports/database.ts";
import type { LayeredState } from "../../host/session/layered-state.ts";
import type { JsonValue } from "../../protocol/json.ts";
import { defaultLimits, type Limits } from "../../protocol/limits.ts";
import { RecentLines } from "./recent-lines.ts";
import {
  decodeTurn,
  encodeTurn,
  type SessionRecord,
  type SessionTurn,
  type StoredSession,
  type WrittenChange,
} from "./session-record.ts";
import { SessionTables } from "./session-tables.ts";
import { UnfoldedTurns } from "./unfolded-turns.ts";

/** One session's part of the journal. */
export interface JournalEntry {
  readonly sessionId: string;
  /** Writes the line with this turn. */
  stage(line: string): void;
  /** Of lines that wait to be written. */
  readonly stagedBytes: number;
  /** Collects the changes of a plugin's state from now on. */
  track(plugin: string, state: LayeredState): void;
  /** The session's record has changed. */
  touch(): void;
  /** Calls back when everything said so far has left or failed. */
  settled(callback: () => void): void;
  acknowledge(seq: number): void;
  /** Lets what was written of a session so far become the ground of a fork: both write above it from now on. */
  splitLayer(): number[];
  forget(): void;
}

/** The record also says when a session was last active, which nobody needs to the second: it is renewed after so many lines. */
const linesPerRecord = 2048;

type JournalLimits = Pick<
  Limits,
  "maxOutboundLines" | "maxOutboundBytes" | "maxRememberedAnswers" | "maxRememberedBytes"
>;

export class SessionJournal {
  readonly #database: Database;
  readonly #limits: JournalLimits;
  readonly #tables: SessionTables;
  /** On top of the tables: what is in the log alone. */
  readonly #unfolded: UnfoldedTurns;
  readonly #log: TurnLog | undefined;
  /** Of this turn, not yet durable anywhere. */
  #turns: SessionTurn[] = [];
  /** Forgotten in this turn: whoever asks for them finds nothing already. */
  readonly #leaving = new Set<string>();
  #nextLayer: number;
  /** Which layers each session stands on, and how many stand on each: one that nobody needs any more can go. */
  readonly #layersOf = new Map<string, readonly number[]>();
  readonly #uses = new Map<number, number>();

  constructor(database: Database, limits: JournalLimits = defaultLimits) {
    this.#database = database;
    this.#limits = limits;
    this.#tables = new SessionTables(database);
    this.#unfolded = this.#gather();
    this.#log = database.openLog?.({
      recall: (record) => this.#unfolded.add(decodeTurn(record)),
      fold: () => this.#fold(),
      ended: (how) => this.#turnEnded(how),
    });
    this.#nextLayer = Math.max(this.#tables.maxLayer, this.#unfolded.maxLayer) + 1;
    for (const { id, record } of this.list()) {
      this.#hold(id, record.layers);
      this.#nextLayer = Math.max(this.#nextLayer, ...record.layers.map((layer) => layer + 1));
    }
  }

  #gather(): UnfoldedTurns {
    return new UnfoldedTurns(this.#limits.maxRememberedAnswers);
  }

  /** Ids of the sessions that are stored, with their records. */
  list(): { id: string; record: SessionRecord }[] {
    const records = new Map([...this.#tables.sessions()].filter(([id]) => !this.#unfolded.isForgotten(id)));
    for (const [id, record] of this.#unfolded.records()) records.set(id, record);
    for (const id of this.#leaving) records.delete(id);
    return Array.from(records, ([id, record]) => ({ id, record }));
  }

  /** Forgets sessions that were created before this moment and that nobody holds: a live one ends by itself. Returns their ids. */
  forgetOlderThan(createdBefore: number, live: { has(sessionId: string): boolean }): string[] {
    const expired = this.list().filter(({ id, record }) => record.createdAt < createdBefore && !live.has(id));
    for (const { id } of expired) this.#forget(id);
    return expired.map(({ id }) => id);
  }

  #forget(session: string): void {
    const dropped = this.#release(session);
    this.#write({ session, lines: [], lastSeq: 0, acknowledged: 0, layer: 0, changes: [], dropped });
    if (this.#log !== undefined) this.#leaving.add(session);
  }

  createLayer(): number {
    this.#nextLayer += 1;
    return this.#nextLayer - 1;
  }

  load(sessionId: string): StoredSession | undefined {
    // What was not synced may be gone after a crash, and whoever comes back would be told of it.
    if (this.#leaving.has(sessionId) || this.#database.failure !== undefined) return undefined;
    const isForgotten = this.#unfolded.isForgotten(sessionId);
    const stored = isForgotten ? undefined : this.#tables.session(sessionId);
    const unfolded = this.#unfolded.session(sessionId);
    const record = unfolded?.record ?? stored?.record;
    if (record === undefined) return undefined;
    const outdated = unfolded?.outdated ?? 0;
    const folded = isForgotten ? [] : this.#tables.lines(sessionId).filter(({ lastSeq }) => lastSeq > outdated);
    const blocks = [...folded, ...(unfolded?.blocks ?? [])];
    // What was said last is in the newest of them.
    const latest = [stored, blocks.at(-1), unfolded];
    const lastSeq = Math.max(...latest.map((part) => part?.lastSeq ?? 0));
    const acknowledged = Math.max(...latest.map((part) => part?.acknowledged ?? 0));
    return {
      record,
      acknowledged,
      lines: blocks.flatMap(({ lines }) => lines),
      lastSeq,
      state: this.#readState(record),
    };
  }

  #readState({ layers }: SessionRecord): StoredSession["state"] {
    const state: StoredSession["state"] = new Map();
    layers.forEach((layer, depth) => {
      for (const [plugin, key, json] of this.#changesOf(layer)) {
        const values = state.get(plugin) ?? layers.map(() => new Map<string, JsonValue | undefined>());
        state.set(plugin, values);
        if (json === undefined) values[depth]?.delete(key);
        else values[depth]?.set(key, json === null ? undefined : (JSON.parse(json) as JsonValue));
      }
    });
    return state;
  }

  *#changesOf(layer: number): Generator<WrittenChange> {
    if (!this.#unfolded.isDropped(layer)) yield* this.#tables.state(layer);
    yield* this.#unfolded.state(layer);
  }

  #write(turn: SessionTurn): void {
    // Where there is no log, the turn is the transaction.
    if (this.#log === undefined) return this.#database.write(() => this.#writeToTables([turn]));
    this.#log.append(encodeTurn(turn));
    this.#turns.push(turn);
  }

  #writeToTables(turns: readonly SessionTurn[]): void {
    const together = this.#gather();
    for (const turn of turns) together.add(turn);
    together.writeTo(this.#tables);
  }

  /** What this turn adds is kept apart until it has not been lost. */
  #fold(): void {
    this.#unfolded.writeTo(this.#tables);
    this.#writeToTables(this.#turns);
  }

  #turnEnded(how: "logged" | "folded" | "lost"): void {
    if (how === "folded") this.#unfolded.clear();
    else if (how === "logged") for (const turn of this.#turns) this.#unfolded.add(turn);
    this.#turns = [];
    this.#leaving.clear();
  }

  /**
   * Opens the entry of a session, new or stored. `read` gives the record as it is when it is written; `released` is called
   * with the lines of a turn once they are durable, or with the reason why they are not.
   */
  open(
    sessionId: string,
    start: { layers: number[]; lastSeq: number; acknowledged: number },
    read: () => Omit<SessionRecord, "layers">,
    released: (lines: readonly string[], error?: Error) => void,
  ): JournalEntry {
    const database = this.#database;
    const tracked = new Map<string, LayeredState>();
    let { layers, lastSeq, acknowledged } = start;
    let staged: string[] = [];
    let isScheduled = false;
    let isTouched = true;
    /** Forgotten, or lost: what follows a turn that was not written must not be written either. */
    let isEnded = false;
    let recordedAt = lastSeq;
    const { maxOutboundLines, maxOutboundBytes, maxRememberedAnswers, maxRememberedBytes } = this.#limits;
    const unacknowledged = new RecentLines({ maxLines: maxOutboundLines, maxBytes: maxOutboundBytes }, acknowledged);
    // Their number is limited anyway.
    const remembered = new RecentLines({ maxLines: Number.POSITIVE_INFINITY, maxBytes: maxRememberedBytes }, 0);
    /** Whether the topmost layer may have something in it. */
    let isTopUsed = this.#layersOf.has(sessionId);
    this.#hold(sessionId, layers);

    // A database that cannot even begin loses the turn like one that cannot commit. It is told later, as that is: whoever
    // says or changes something is in the middle of a call, and not to be stopped there.
    const schedule = () => {
      if (isScheduled || isEnded) return;
      isScheduled = true;
      try {
        database.beforeCommit(flush);
      } catch (error) {
        setImmediate(() => flush(error as Error));
      }
    };

    const fail = (lines: readonly string[], error: Error) => {
      isEnded = true;
      released(lines, error);
    };

    const flush = (lost?: Error) => {
      isScheduled = false;
      if (isEnded) return;
      const lines = staged;
      staged = [];
      if (lost !== undefined) return fail(lines, lost);
      let changes: WrittenChange[];
      try {
        // With no layer below there is nothing to hide, and a key that came and went leaves nothing behind.
        changes = writeDown(tracked, layers.length > 1);
      } catch (error) {
        // A state that cannot be written costs its own session, not the others whose turn this is. Told once the turn is over.
        isEnded = true;
        return void setImmediate(() => fail(lines, error as Error));
      }
      isTouched ||= lastSeq + lines.length - recordedAt >= linesPerRecord;
      if (lines.length === 0 && changes.length === 0 && !isTouched) return;
      // First, so that what fails below is told as well. State that is lost matters without lines, too.
      database.afterCommit((error) => {
        if (error !== undefined) fail(lines, error);
        else if (lines.length > 0) released(lines);
      });
      isTopUsed ||= changes.length > 0;
      lastSeq += lines.length;
      const bytes = lengthOf(lines);
      acknowledged = Math.max(acknowledged, unacknowledged.add(bytes, lastSeq));
      const outdated = remembered.add(bytes, lastSeq);
      const about = { session: sessionId, lines, lastSeq, acknowledged, layer: layers.at(-1) as number, changes };
      const ageing = outdated > lastSeq - maxRememberedAnswers ? { outdated } : undefined;
      const record = isTouched ? { record: { ...read(), layers } } : undefined;
      if (isTouched) recordedAt = lastSeq;
      isTouched = false;
      this.#write({ ...about, ...ageing, ...record });
    };

    return {
      sessionId,
      get stagedBytes() {
        return lengthOf(staged);
      },
      stage(line) {
        schedule();
        staged.push(line);
      },
      track(plugin, state) {
        tracked.set(plugin, state);
        state.track(schedule);
      },
      touch() {
        isTouched = true;
        schedule();
      },
      settled(callback) {
        schedule();
        try {
          // Within the turn's commit, and after the lines that it releases.
          database.beforeCommit(() => database.afterCommit(() => callback()));
        } catch {
          setImmediate(callback);
        }
      },
      acknowledge(seq) {
        // Not worth a commit of its own: at worst a line is offered again to a peer that says what it has.
        if (seq > acknowledged && seq <= lastSeq) acknowledged = seq;
      },
      splitLayer: () => {
        schedule();
        flush();
        if (!isTopUsed) return layers.slice(0, -1);
        const ground = layers;
        layers = [...ground, this.createLayer()];
        this.#hold(sessionId, layers);
        isTopUsed = false;
        isTouched = true;
        schedule();
        return ground;
      },
      forget: () => {
        isEnded = true;
        this.#forget(sessionId);
      },
    };
  }

  #hold(sessionId: string, layers: readonly number[]): void {
    for (const layer of layers) this.#uses.set(layer, (this.#uses.get(layer) ?? 0) + 1);
    this.#release(sessionId);
    this.#layersOf.set(sessionId, layers);
  }

  /** The layers that nobody stands on any more. */
  #release(sessionId: string): number[] {
    const layers = this.#layersOf.get(sessionId) ?? [];
    this.#layersOf.delete(sessionId);
    return layers.filter((layer) => {
      const uses = (this.#uses.get(layer) ?? 1) - 1;
      if (uses > 0) this.#uses.set(layer, uses);
      else this.#uses.delete(layer);
      return uses === 0;
    });
  }
}

function lengthOf(lines: readonly string[]): number {
  let length = 0;
  for (const line of lines) length += line.length;
  return length;
}

/** What changed in the states of one session, as text. Throws where a plugin's value has no JSON form. */
function writeDown(states: ReadonlyMap<string, LayeredState>, isAbove: boolean): WrittenChange[] {
  const written: WrittenChange[] = [];
  for (const [plugin, state] of states) {
    for (const { key, value } of state.takeChanges()) {
      const json = value === undefined ? undefined : JSON.stringify(value);
      // Types do not keep everybody from it, and one that no table takes would cost the others their turns as well.
      if (typeof key !== "string" || (value !== undefined && json === undefined))
        throw new TypeError(`plugin "${plugin}": the state has a key or a value without a JSON form`);
      if (json !== undefined) written.push([plugin, key, json]);
      else written.push(isAbove ? [plugin, key, null] : [plugin, key]);
    }
  }
  return written;
}
