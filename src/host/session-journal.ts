// Sessions that outlive the process. What a session says and what its plugins keep is written in one transaction per
// turn, and no line leaves before that transaction is durable: what a peer has seen has happened.
import type { JsonValue } from "../protocol/json.ts";
import type { Database, SqlStatement } from "./database.ts";
import type { SessionState } from "./session-state.ts";

/** What a session is, beside its lines and its state. */
export interface SessionRecord {
  principal: { id: string; isAuthenticated: boolean };
  granted: string[];
  dialect: string;
  /** Milliseconds since 1970. */
  createdAt: number;
  lastActiveAt: number;
  /** Where its state lies, oldest layer first; the last one is its own. */
  layers: number[];
  parent?: string;
  /** How many of the layers a fork began with. */
  ground?: number;
}

export interface StoredSession {
  record: SessionRecord;
  acknowledged: number;
  /** Consecutive; the last one has number `lastSeq`. */
  lines: string[];
  lastSeq: number;
  /** Layers of state by plugin, as many for each as the record names. */
  state: Map<string, Map<string, JsonValue | undefined>[]>;
}

const migrations = [
  `CREATE TABLE session (id TEXT PRIMARY KEY, record TEXT NOT NULL, acknowledged INTEGER NOT NULL DEFAULT 0, last_seq INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
   CREATE TABLE session_line (session TEXT NOT NULL, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, lines TEXT NOT NULL, PRIMARY KEY (session, first_seq)) STRICT, WITHOUT ROWID;
   CREATE TABLE session_state (layer INTEGER NOT NULL, plugin TEXT NOT NULL, key TEXT NOT NULL, value TEXT, PRIMARY KEY (layer, plugin, key)) STRICT, WITHOUT ROWID;`,
  // A turn writes one row and not the session's too, so that row also says what the peer had acknowledged by then. Rows
  // lie in the order of writing: that takes half the time of a table that is sorted by session.
  `ALTER TABLE session_line RENAME TO old_session_line;
   CREATE TABLE session_line (id INTEGER PRIMARY KEY, session TEXT NOT NULL, last_seq INTEGER NOT NULL, acknowledged INTEGER NOT NULL, lines TEXT NOT NULL) STRICT;
   CREATE INDEX session_line_place ON session_line (session, last_seq);
   INSERT INTO session_line (session, last_seq, acknowledged, lines) SELECT session, last_seq, 0, lines FROM old_session_line ORDER BY session, first_seq;
   DROP TABLE old_session_line;`,
];

/** One session's part of the journal. */
export interface JournalEntry {
  readonly sessionId: string;
  /** Writes the line with this turn. */
  stage(line: string): void;
  /** Of lines that wait to be written. */
  readonly stagedBytes: number;
  /** Collects the changes of a plugin's state from now on. */
  track(plugin: string, state: SessionState): void;
  /** The session's record has changed. */
  touch(): void;
  /** Calls back when everything said so far has left or failed. */
  settled(callback: () => void): void;
  acknowledge(seq: number): void;
  /** Lets what was written of a session so far become the ground of a fork: both write above it from now on. */
  splitLayer(): number[];
  forget(): void;
}

/** How many lines are kept that the peer has acknowledged: a repeated request is still answered from them. */
const keptLines = 2048;

export class SessionJournal {
  readonly #database: Database;
  readonly #sql: Record<
    | "putSession"
    | "putLines"
    | "putState"
    | "deleteState"
    | "dropState"
    | "prune"
    | "getSession"
    | "getLines"
    | "getState"
    | "deleteSession"
    | "deleteLines"
    | "listSessions"
    | "maxLayer",
    SqlStatement
  >;
  #nextLayer: number;
  /** Which layers each session stands on, and how many stand on each: one that nobody needs any more can go. */
  readonly #layersOf = new Map<string, readonly number[]>();
  readonly #uses = new Map<number, number>();

  constructor(database: Database) {
    this.#database = database;
    database.migrate("session", migrations);
    this.#sql = {
      putSession: database.prepare(
        "INSERT INTO session (id, record, acknowledged, last_seq) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET record = excluded.record, acknowledged = excluded.acknowledged, last_seq = excluded.last_seq",
      ),
      putLines: database.prepare(
        "INSERT INTO session_line (session, last_seq, acknowledged, lines) VALUES (?, ?, ?, ?)",
      ),
      putState: database.prepare(
        "INSERT INTO session_state (layer, plugin, key, value) VALUES (?, ?, ?, ?) ON CONFLICT (layer, plugin, key) DO UPDATE SET value = excluded.value",
      ),
      deleteState: database.prepare("DELETE FROM session_state WHERE layer = ? AND plugin = ? AND key = ?"),
      dropState: database.prepare("DELETE FROM session_state WHERE layer = ?"),
      prune: database.prepare("DELETE FROM session_line WHERE session = ? AND last_seq <= ?"),
      getSession: database.prepare("SELECT record, acknowledged, last_seq FROM session WHERE id = ?"),
      getLines: database.prepare(
        "SELECT lines, last_seq, acknowledged FROM session_line WHERE session = ? ORDER BY last_seq",
      ),
      getState: database.prepare("SELECT plugin, key, value FROM session_state WHERE layer = ?"),
      deleteSession: database.prepare("DELETE FROM session WHERE id = ?"),
      deleteLines: database.prepare("DELETE FROM session_line WHERE session = ?"),
      listSessions: database.prepare("SELECT id, record FROM session"),
      maxLayer: database.prepare("SELECT max(layer) AS layer FROM session_state"),
    };
    this.#nextLayer = Number(this.#sql.maxLayer.get()?.layer ?? 0) + 1;
    for (const { id, record } of this.#records()) {
      this.#hold(id, record.layers);
      this.#nextLayer = Math.max(this.#nextLayer, ...record.layers.map((layer) => layer + 1));
    }
  }

  /** Ids of the sessions that are stored, with their records. */
  list(): { id: string; record: SessionRecord }[] {
    return [...this.#records()];
  }

  *#records(): Generator<{ id: string; record: SessionRecord }> {
    for (const row of this.#sql.listSessions.all())
      yield { id: String(row.id), record: JSON.parse(String(row.record)) as SessionRecord };
  }

  /** Forgets sessions that were created before this moment and that nobody holds: a live one ends by itself. Returns their ids. */
  forgetOlderThan(createdBefore: number, live: { has(sessionId: string): boolean }): string[] {
    const expired = this.list().filter(({ id, record }) => record.createdAt < createdBefore && !live.has(id));
    if (expired.length === 0) return [];
    this.#database.write(() => {
      for (const { id } of expired) this.#forget(id);
    });
    return expired.map(({ id }) => id);
  }

  #forget(sessionId: string): void {
    this.#sql.deleteSession.run(sessionId);
    this.#sql.deleteLines.run(sessionId);
    for (const layer of this.#release(sessionId)) this.#sql.dropState.run(layer);
  }

  createLayer(): number {
    this.#nextLayer += 1;
    return this.#nextLayer - 1;
  }

  load(sessionId: string): StoredSession | undefined {
    const row = this.#sql.getSession.get(sessionId);
    if (row === undefined) return undefined;
    const record = JSON.parse(String(row.record)) as SessionRecord;
    const turns = this.#sql.getLines.all(sessionId);
    const lines = turns.flatMap(({ lines }) => String(lines).split("\n"));
    const last = turns.at(-1);
    const lastSeq = Math.max(Number(row.last_seq), Number(last?.last_seq ?? 0));
    const acknowledged = Math.max(Number(row.acknowledged), Number(last?.acknowledged ?? 0));
    const state: StoredSession["state"] = new Map();
    record.layers.forEach((layer, depth) => {
      for (const { plugin, key, value } of this.#sql.getState.all(layer)) {
        const layers = state.get(String(plugin)) ?? record.layers.map(() => new Map<string, JsonValue | undefined>());
        state.set(String(plugin), layers);
        layers[depth]?.set(String(key), value === null ? undefined : (JSON.parse(String(value)) as JsonValue));
      }
    });
    return { record, acknowledged, lines, lastSeq, state };
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
    const { deleteState, prune, putLines, putSession, putState } = this.#sql;
    const database = this.#database;
    const tracked = new Map<string, SessionState>();
    let { layers, lastSeq, acknowledged } = start;
    let staged: string[] = [];
    let isScheduled = false;
    let isTouched = true;
    /** Forgotten, or lost: what follows a turn that was not written must not be written either. */
    let isEnded = false;
    let prunedAt = lastSeq;
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
        changes = writeDown(tracked);
      } catch (error) {
        // A state that cannot be written costs its own session, not the others whose turn this is. Told once the turn is over.
        isEnded = true;
        return void setImmediate(() => fail(lines, error as Error));
      }
      // First, so that what fails below is told as well. State that is lost matters without lines, too.
      database.afterCommit((error) => {
        if (error !== undefined) fail(lines, error);
        else if (lines.length > 0) released(lines);
      });
      const top = layers.at(-1) as number;
      for (const { plugin, key, json } of changes) {
        isTopUsed = true;
        // With no layer below there is nothing to hide, and a key that came and went leaves nothing behind.
        if (json === null && layers.length === 1) deleteState.run(top, plugin, key);
        else putState.run(top, plugin, key, json);
      }
      if (lines.length > 0) {
        const text = lines.length === 1 ? (lines[0] as string) : lines.join("\n");
        lastSeq += lines.length;
        putLines.run(sessionId, lastSeq, acknowledged, text);
      }
      if (lastSeq - prunedAt >= keptLines) {
        prunedAt = lastSeq;
        isTouched = true;
        prune.run(sessionId, Math.min(acknowledged, lastSeq - keptLines));
      }
      if (isTouched) putSession.run(sessionId, JSON.stringify({ ...read(), layers }), acknowledged, lastSeq);
      isTouched = false;
    };

    return {
      sessionId,
      get stagedBytes() {
        let bytes = 0;
        for (const line of staged) bytes += line.length;
        return bytes;
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
        database.write(() => flush());
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
        database.write(() => this.#forget(sessionId));
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

interface WrittenChange {
  readonly plugin: string;
  readonly key: string;
  /** Null where the key is gone. */
  readonly json: string | null;
}

/** What changed in the states of one session, as text. Throws where a plugin's value has no JSON form. */
function writeDown(states: ReadonlyMap<string, SessionState>): WrittenChange[] {
  const written: WrittenChange[] = [];
  for (const [plugin, state] of states) {
    for (const { key, value } of state.takeChanges())
      written.push({ plugin, key, json: value === undefined ? null : JSON.stringify(value) });
  }
  return written;
}
