// The combined turns since the log was last written to tables; they override the tables. Most lines are acknowledged, and
// most keys are changed again, before they would become a row.
import type { LineBlock, SessionTables } from "./session-tables.ts";
import type { WrittenChange, WrittenRecord, WrittenTurn } from "./written-turn.ts";

/** Lines that are too old are removed this many at a time. */
const linesPerDrop = 256;

interface UnfoldedSession {
  blocks: LineBlock[];
  /** Lines up to this number are removed, also those in tables. */
  outdated: number;
  lastSeq: number;
  acknowledged: number;
  /** Lines up to this number are not kept for repeated requests, because newer ones have used up `maxRememberedBytes`. */
  tooOld: number;
  record: WrittenRecord | undefined;
}

export class UnfoldedTurns {
  /** How many acknowledged lines are kept: a repeated request is answered from them. */
  readonly #keptLines: number;
  readonly #sessions = new Map<string, UnfoldedSession>();
  /** Changes by layer, and by plugin and key. */
  readonly #state = new Map<number, Map<string, WrittenChange>>();
  /** Removed sessions and layers that may still be in tables. */
  readonly #forgotten = new Set<string>();
  readonly #dropped = new Set<number>();

  constructor(keptLines: number) {
    this.#keptLines = keptLines;
  }

  add(turn: WrittenTurn): void {
    const { session, layer, changes, dropped } = turn;
    if (dropped !== undefined) return this.#forget(session, dropped);
    this.#addLines(turn);
    if (changes.length === 0) return;
    const state = this.#state.get(layer) ?? new Map<string, WrittenChange>();
    this.#state.set(layer, state);
    for (const change of changes) state.set(`${change[0]}\u0000${change[1]}`, change);
  }

  #addLines({ session, lines, lastSeq, acknowledged, outdated = 0, record }: WrittenTurn): void {
    const known = this.#sessions.get(session) ?? { ...nothingSaid, blocks: [] };
    this.#sessions.set(session, known);
    if (lines.length > 0) known.blocks.push({ lines, lastSeq, acknowledged });
    known.lastSeq = lastSeq;
    known.acknowledged = acknowledged;
    known.record = record ?? known.record;
    const isTooMuch = outdated > known.tooOld;
    if (isTooMuch) known.tooOld = outdated;
    const [oldest] = known.blocks;
    if (isTooMuch || (oldest !== undefined && outdatedOf(known, this.#keptLines) - oldest.lastSeq >= linesPerDrop))
      dropOutdated(known, this.#keptLines);
  }

  #forget(session: string, layers: readonly number[]): void {
    this.#sessions.delete(session);
    this.#forgotten.add(session);
    for (const layer of layers) {
      this.#state.delete(layer);
      this.#dropped.add(layer);
    }
  }

  /** The sessions whose record is here. */
  *records(): Generator<[id: string, record: WrittenRecord]> {
    for (const [id, { record }] of this.#sessions) if (record !== undefined) yield [id, record];
  }

  session(id: string): Readonly<UnfoldedSession> | undefined {
    return this.#sessions.get(id);
  }

  state(layer: number): Iterable<WrittenChange> {
    return this.#state.get(layer)?.values() ?? [];
  }

  /** Whether the rows of this session in tables are to be ignored. */
  isForgotten(session: string): boolean {
    return this.#forgotten.has(session);
  }

  /** Layers that are removed. */
  get dropped(): Iterable<number> {
    return this.#dropped;
  }

  isDropped(layer: number): boolean {
    return this.#dropped.has(layer);
  }

  /** Must be called within a transaction. */
  writeTo(tables: SessionTables): void {
    for (const session of this.#forgotten) tables.deleteSession(session);
    for (const layer of this.#dropped) tables.dropLayer(layer);
    for (const [layer, state] of this.#state) for (const change of state.values()) tables.putState(layer, change);
    for (const [id, session] of this.#sessions) writeSession(tables, id, session, this.#keptLines);
  }

  clear(): void {
    this.#sessions.clear();
    this.#state.clear();
    this.#forgotten.clear();
    this.#dropped.clear();
  }
}

const nothingSaid: UnfoldedSession = {
  blocks: [],
  outdated: 0,
  lastSeq: 0,
  acknowledged: 0,
  tooOld: 0,
  record: undefined,
};

/** The number of the last line that is no longer needed. */
const outdatedOf = ({ acknowledged, lastSeq, tooOld }: UnfoldedSession, keptLines: number) =>
  Math.min(acknowledged, Math.max(lastSeq - keptLines, tooOld));

function dropOutdated(session: UnfoldedSession, keptLines: number): void {
  const outdated = outdatedOf(session, keptLines);
  session.outdated = Math.max(session.outdated, outdated);
  let count = 0;
  for (const block of session.blocks) {
    if (block.lastSeq > outdated) break;
    // Lets the garbage collector free the lines before the next full collection: see `#forgetOldest` of `CallTable`.
    block.lines = [];
    count += 1;
  }
  session.blocks.splice(0, count);
}

function writeSession(tables: SessionTables, id: string, session: UnfoldedSession, keptLines: number): void {
  const { record, acknowledged, lastSeq } = session;
  const [oldest] = session.blocks;
  // Not at each call: deleting old rows costs more than keeping a few of them.
  const periodOf = (seq: number) => Math.floor(seq / Math.max(keptLines, linesPerDrop));
  if (oldest !== undefined && periodOf(oldest.lastSeq - oldest.lines.length) !== periodOf(lastSeq))
    dropOutdated(session, keptLines);
  if (session.outdated > 0) tables.prune(id, session.outdated);
  const lines = session.blocks.flatMap((block) => block.lines);
  if (lines.length > 0) tables.putLines(id, { lines, lastSeq, acknowledged });
  if (record !== undefined) tables.putSession(id, record, acknowledged, lastSeq);
}
