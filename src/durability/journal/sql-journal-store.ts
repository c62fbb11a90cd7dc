// The journal in the host's SQL database. All writes of one turn of the event loop, of all sessions and of plugins to their
// own tables, are committed in one transaction: see docs/decisions/journal.md.

import type { Journal, SessionOrigin } from "../../host/ports/journal.ts";
import type { SessionRecord } from "../../host/session/session-record.ts";
import { LayeredState } from "../../machinery/state/layered-state.ts";
import type { Database, TurnLog } from "../../plugin/ports/database.ts";
import type { JsonValue } from "../../protocol/json.ts";
import { defaultLimits } from "../../protocol/limits.ts";
import { createJournal } from "./create-journal.ts";
import type { JournalLimits } from "./journal-entry.ts";
import {
  type CommitUnit,
  forgetSession,
  type JournalStore,
  type SessionTurn,
  type WrittenState,
} from "./journal-store.ts";
import { SessionLayers } from "./session-layers.ts";
import { SessionTables } from "./session-tables.ts";
import { UnfoldedTurns } from "./unfolded-turns.ts";
import {
  decodeTurn,
  encodeTurn,
  type Placement,
  type WrittenChange,
  type WrittenRecord,
  type WrittenTurn,
} from "./written-turn.ts";

/** A journal in this database. The caller closes the database. */
export function createSqlJournal(database: Database, limits: JournalLimits = defaultLimits): Journal {
  return createJournal(new SqlJournalStore(database, limits), limits);
}

class SqlJournalStore implements JournalStore {
  readonly #database: Database;
  readonly #keptLines: number;
  readonly #tables: SessionTables;
  readonly #layers: SessionLayers;
  /** Turns that are in the log and not in tables. They override the tables. */
  readonly #unfolded: UnfoldedTurns;
  /** Absent if the database has only tables. */
  readonly #log: TurnLog | undefined;
  /** Units to take at the end of this turn. */
  #units: CommitUnit[] = [];
  /** The turns of sessions that were appended to the log in this turn. */
  #turns: WrittenTurn[] = [];
  /** Sessions that are being removed, and those whose removal failed. */
  readonly #leaving = new Set<string>();
  /** Sessions whose last turn is lost and whose unit has not ended yet: later turns of them fail as well. */
  readonly #lost = new Set<string>();

  constructor(database: Database, { maxRememberedAnswers }: JournalLimits) {
    this.#database = database;
    this.#keptLines = maxRememberedAnswers;
    this.#tables = new SessionTables(database);
    this.#unfolded = new UnfoldedTurns(this.#keptLines);
    this.#log = database.openLog?.({
      name: "journal",
      recover: (record) => this.#unfolded.add(decodeTurn(record)),
      fold: () => this.#fold(),
      ended: (how) => this.#turnEnded(how),
    });
    this.#layers = new SessionLayers(this.#tables);
    for (const [, record] of this.#unfolded.records()) this.#layers.recover(record);
    this.#layers.recoverDropped(this.#unfolded.dropped);
  }

  commit(unit: CommitUnit): void {
    if (unit.forgets !== undefined) this.#leaving.add(unit.forgets);
    this.#units.push(unit);
    if (this.#units.length > 1) return;
    try {
      this.#database.beforeCommit((error) => this.#takeUnits(error));
    } catch (error) {
      // The caller may be in the middle of a call, so the error is reported later, like a failed commit.
      setImmediate(() => this.#takeUnits(error as Error));
    }
  }

  #takeUnits(error?: Error): void {
    const units = this.#units;
    this.#units = [];
    // All units are taken before the first write, so that a failed write is reported to each of them.
    const taken = units.map((unit) => this.#take(unit, error));
    if (error !== undefined) return;
    try {
      for (const turns of taken) for (const turn of turns) this.#write(this.#place(turn));
      taken.forEach((turns, index) => {
        if (turns.length > 0) units[index]?.writing();
      });
    } catch (cause) {
      // The transaction is lost, also for turns that were not appended yet.
      for (const turns of taken) for (const { session } of turns) this.#lost.add(session);
      throw cause;
    }
  }

  #take(unit: CommitUnit, error: Error | undefined): readonly SessionTurn[] {
    const turns = unit.take();
    if (turns.length === 0) return turns;
    const loss = error ?? (turns.some(({ session }) => this.#lost.has(session)) ? followsLoss() : undefined);
    const ended = (failure?: Error) => {
      const result = loss ?? failure;
      if (unit.forgets !== undefined && result === undefined) this.#leaving.delete(unit.forgets);
      // An earlier unit of the session may end first, and well.
      if (result !== undefined && this.#lost.size > 0) for (const { session } of turns) this.#lost.delete(session);
      unit.ended(result);
    };
    if (error === undefined) this.#database.afterCommit(ended);
    else ended();
    return loss === undefined ? turns : [];
  }

  /** Finds the layers of a turn. */
  #place(turn: SessionTurn): WrittenTurn {
    const { session, lines, lastSeq, acknowledged, outdated, record } = turn;
    if (turn.isForgotten === true) {
      const placement = this.#placementOf(session) ?? { layers: [] };
      const dropped = this.#layers.release(session, placement);
      return { session, lines, lastSeq, acknowledged, layer: 0, changes: [], dropped };
    }
    let placement = this.#layers.of(session);
    placement ??= this.#layers.create(session, turn.forkOf === undefined ? undefined : this.#placementOf(turn.forkOf));
    const layer = placement.layers.at(-1) as number;
    const changes = toWrittenChanges(turn.changes, placement.layers.length > 1);
    if (turn.isSplit === true) placement = this.#layers.split(session, placement);
    return {
      session,
      lines,
      lastSeq,
      acknowledged,
      ...(outdated === undefined ? undefined : { outdated }),
      layer,
      changes,
      ...(record === undefined ? undefined : { record: { ...record, ...placement } }),
    };
  }

  #placementOf(session: string): Placement | undefined {
    const known = this.#layers.of(session);
    if (known !== undefined) return known;
    const stored = this.#unfolded.isForgotten(session) ? undefined : this.#tables.session(session);
    const record = this.#unfolded.session(session)?.record ?? stored?.record;
    return record === undefined ? undefined : toPlacement(record);
  }

  #write(turn: WrittenTurn): void {
    if (this.#log === undefined) {
      this.#database.write(() => this.#writeToTables([turn]));
      return this.#layers.turnEnded("folded");
    }
    this.#log.append(encodeTurn(turn));
    this.#turns.push(turn);
  }

  #writeToTables(turns: readonly WrittenTurn[]): void {
    const together = new UnfoldedTurns(this.#keptLines);
    for (const turn of turns) together.add(turn);
    together.writeTo(this.#tables);
  }

  #fold(): void {
    this.#unfolded.writeTo(this.#tables);
    // Not added to the unfolded turns: the transaction may still fail.
    this.#writeToTables(this.#turns);
  }

  #turnEnded(how: "logged" | "folded" | "lost"): void {
    const turns = this.#turns;
    this.#turns = [];
    if (how === "folded") this.#unfolded.clear();
    for (const turn of turns) {
      if (how === "logged") this.#unfolded.add(turn);
      else if (how === "lost") this.#lost.add(turn.session);
    }
    this.#layers.turnEnded(how, this.#lost);
  }

  load(sessionId: string): SessionOrigin | undefined {
    // After a failed sync, turns that were reported as durable may be lost in a crash.
    if (this.#leaving.has(sessionId) || this.#database.failure !== undefined) return undefined;
    const isForgotten = this.#unfolded.isForgotten(sessionId);
    const stored = isForgotten ? undefined : this.#tables.session(sessionId);
    const unfolded = this.#unfolded.session(sessionId);
    const written = unfolded?.record ?? stored?.record;
    if (written === undefined) return undefined;
    const placement = this.#layers.set(sessionId, toPlacement(written));
    const outdated = unfolded?.outdated ?? 0;
    const folded = isForgotten ? [] : this.#tables.lines(sessionId).filter(({ lastSeq }) => lastSeq > outdated);
    const blocks = [...folded, ...(unfolded?.blocks ?? [])];
    // Numbers only increase, so the highest are current.
    const latest = [stored, blocks.at(-1), unfolded];
    return {
      record: toRecord(written),
      states: this.#readStates(placement),
      lines: blocks.flatMap(({ lines }) => lines),
      lastSeq: Math.max(...latest.map((part) => part?.lastSeq ?? 0)),
      acknowledged: Math.max(...latest.map((part) => part?.acknowledged ?? 0)),
    };
  }

  #readStates({ layers, ground }: Placement): Map<string, LayeredState> {
    const values = new Map<string, Map<string, JsonValue | undefined>[]>();
    layers.forEach((layer, depth) => {
      for (const [plugin, key, json] of this.#changesOf(layer)) {
        const ofPlugin = values.get(plugin) ?? layers.map(() => new Map<string, JsonValue | undefined>());
        values.set(plugin, ofPlugin);
        if (json === undefined) ofPlugin[depth]?.delete(key);
        else ofPlugin[depth]?.set(key, json === null ? undefined : (JSON.parse(json) as JsonValue));
      }
    });
    return new Map(Array.from(values, ([plugin, ofPlugin]) => [plugin, LayeredState.fromLayers(ofPlugin, ground)]));
  }

  *#changesOf(layer: number): Generator<WrittenChange> {
    if (!this.#unfolded.isDropped(layer)) yield* this.#tables.state(layer);
    yield* this.#unfolded.state(layer);
  }

  forgetOlderThan(createdBefore: number, live: { has(sessionId: string): boolean }): string[] {
    const ids = new Set(this.#tables.olderThan(createdBefore));
    for (const [id, { createdAt }] of this.#unfolded.records()) if (createdAt < createdBefore) ids.add(id);
    const isStored = (id: string) => this.#unfolded.session(id) !== undefined || !this.#unfolded.isForgotten(id);
    const expired = [...ids].filter((id) => isStored(id) && !live.has(id));
    for (const id of expired) this.commit(forgetSession(id));
    return expired;
  }

  /** The database belongs to the host, which closes it last. */
  async close(): Promise<void> {}
}

function followsLoss(): Error {
  return new Error("an earlier turn of this session could not be written");
}

function toPlacement({ layers, ground }: WrittenRecord): Placement {
  return ground === undefined ? { layers } : { layers, ground };
}

function toRecord({ layers: _layers, ground: _ground, ...record }: WrittenRecord): SessionRecord {
  return record;
}

function toWrittenChanges(changes: readonly WrittenState[], isAbove: boolean): readonly WrittenChange[] {
  if (changes.every(([, , json]) => json !== undefined)) return changes as readonly WrittenChange[];
  return changes.map((change): WrittenChange => {
    const [plugin, key, json] = change;
    if (json !== undefined) return [plugin, key, json];
    return isAbove ? [plugin, key, null] : [plugin, key];
  });
}
