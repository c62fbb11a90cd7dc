// What turns since the last commit to tables have come to. Tables with this on top are what the journal knows: most of
// what a session says is acknowledged, and most of what it changes is changed again, before it would become a row.
import type { SessionRecord, SessionTurn, WrittenChange } from "./session-record.ts";
import type { LineBlock, SessionTables } from "./session-tables.ts";

/** How many lines are kept that the peer has acknowledged: a repeated request is still answered from them. */
const keptLines = 2048;

interface UnfoldedSession {
  readonly blocks: LineBlock[];
  lastSeq: number;
  acknowledged: number;
  record: SessionRecord | undefined;
}

export class UnfoldedTurns {
  readonly #sessions = new Map<string, UnfoldedSession>();
  /** Changes by layer, and by plugin and key. */
  readonly #state = new Map<number, Map<string, WrittenChange>>();
  /** What tables still have of these is nothing any more. */
  readonly #forgotten = new Set<string>();
  readonly #dropped = new Set<number>();

  add(turn: SessionTurn): void {
    const { session, layer, changes, dropped } = turn;
    if (dropped !== undefined) return this.#forget(session, dropped);
    this.#addLines(turn);
    if (changes.length === 0) return;
    const state = this.#state.get(layer) ?? new Map<string, WrittenChange>();
    this.#state.set(layer, state);
    for (const change of changes) state.set(`${change[0]}\u0000${change[1]}`, change);
  }

  #addLines({ session, lines, lastSeq, acknowledged, record }: SessionTurn): void {
    const known = this.#sessions.get(session) ?? { blocks: [], lastSeq, acknowledged, record: undefined };
    this.#sessions.set(session, known);
    if (lines.length > 0) known.blocks.push({ lines, lastSeq, acknowledged });
    known.lastSeq = lastSeq;
    known.acknowledged = acknowledged;
    known.record = record ?? known.record;
  }

  #forget(session: string, layers: readonly number[]): void {
    this.#sessions.delete(session);
    this.#forgotten.add(session);
    for (const layer of layers) {
      this.#state.delete(layer);
      this.#dropped.add(layer);
    }
  }

  *records(): Generator<[id: string, record: SessionRecord]> {
    for (const [id, { record }] of this.#sessions) if (record !== undefined) yield [id, record];
  }

  session(id: string): Readonly<UnfoldedSession> | undefined {
    return this.#sessions.get(id);
  }

  state(layer: number): Iterable<WrittenChange> {
    return this.#state.get(layer)?.values() ?? [];
  }

  get maxLayer(): number {
    return Math.max(0, ...this.#state.keys());
  }

  /** Whether tables may still have it. */
  isForgotten(session: string): boolean {
    return this.#forgotten.has(session);
  }

  isDropped(layer: number): boolean {
    return this.#dropped.has(layer);
  }

  /** Within a transaction. */
  writeTo(tables: SessionTables): void {
    for (const session of this.#forgotten) tables.deleteSession(session);
    for (const layer of this.#dropped) tables.dropState(layer);
    for (const [layer, state] of this.#state) for (const change of state.values()) tables.putState(layer, change);
    for (const [id, session] of this.#sessions) writeSession(tables, id, session);
  }

  clear(): void {
    this.#sessions.clear();
    this.#state.clear();
    this.#forgotten.clear();
    this.#dropped.clear();
  }
}

function writeSession(tables: SessionTables, id: string, session: UnfoldedSession): void {
  const { record, acknowledged, lastSeq } = session;
  let { blocks } = session;
  const [first] = blocks;
  // Looking for old lines costs more than it takes away where only a few have come.
  if (first !== undefined && countOf(first.lastSeq - first.lines.length) !== countOf(lastSeq)) {
    const outdated = Math.min(acknowledged, lastSeq - keptLines);
    tables.prune(id, outdated);
    blocks = blocks.filter((block) => block.lastSeq > outdated);
  }
  if (blocks.length > 0) tables.putLines(id, { lines: blocks.flatMap(({ lines }) => lines), lastSeq, acknowledged });
  if (record !== undefined) tables.putSession(id, record, acknowledged, lastSeq);
}

const countOf = (seq: number) => Math.floor(seq / keptLines);
