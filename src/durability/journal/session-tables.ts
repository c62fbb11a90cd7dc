// The tables of the SQL journal: records of sessions, their outgoing lines, and the state of their plugins.
import type { Database, SqlStatement } from "../../plugin/ports/database.ts";
import type { WrittenChange, WrittenRecord } from "./written-turn.ts";
import { noLayer } from "./written-turn.ts";

const migrations = [
  `CREATE TABLE session (id TEXT PRIMARY KEY, record TEXT NOT NULL, acknowledged INTEGER NOT NULL DEFAULT 0, last_seq INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
   CREATE TABLE session_line (session TEXT NOT NULL, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, lines TEXT NOT NULL, PRIMARY KEY (session, first_seq)) STRICT, WITHOUT ROWID;
   CREATE TABLE session_state (layer INTEGER NOT NULL, plugin TEXT NOT NULL, key TEXT NOT NULL, value TEXT, PRIMARY KEY (layer, plugin, key)) STRICT, WITHOUT ROWID;`,
  // Lines are written without updating the row of their session, so their row also contains the acknowledged number. Rows
  // are in the order of writing, which takes half the time of a table that is sorted by session.
  `ALTER TABLE session_line RENAME TO old_session_line;
   CREATE TABLE session_line (id INTEGER PRIMARY KEY, session TEXT NOT NULL, last_seq INTEGER NOT NULL, acknowledged INTEGER NOT NULL, lines TEXT NOT NULL) STRICT;
   CREATE INDEX session_line_place ON session_line (session, last_seq);
   INSERT INTO session_line (session, last_seq, acknowledged, lines) SELECT session, last_seq, 0, lines FROM old_session_line ORDER BY session, first_seq;
   DROP TABLE old_session_line;`,
  // From this version on there is a log of turns beside these tables: an older release must not open them and ignore it.
  "SELECT 1",
  // The age of sessions and the tree of layers in columns, so that a start need not read the records.
  `ALTER TABLE session ADD COLUMN created_at REAL NOT NULL DEFAULT 0;
   UPDATE session SET created_at = json_extract(record, '$.createdAt');
   CREATE INDEX session_age ON session (created_at);
   CREATE TABLE session_layer (layer INTEGER PRIMARY KEY, below INTEGER NOT NULL) STRICT;
   CREATE INDEX session_layer_below ON session_layer (below);
   INSERT OR IGNORE INTO session_layer (layer, below)
     SELECT one.value, CASE one.key WHEN 0 THEN 0 ELSE json_extract(session.record, '$.layers[' || (one.key - 1) || ']') END
     FROM session, json_each(session.record, '$.layers') AS one;`,
];

/** Consecutive lines. */
export interface LineBlock {
  lines: readonly string[];
  /** The number of the last line. */
  readonly lastSeq: number;
  readonly acknowledged: number;
}

export class SessionTables {
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
    | "deleteLayer"
    | "putLayer"
    | "getAbove"
    | "listOlder"
    | "maxLayer",
    SqlStatement
  >;

  constructor(database: Database) {
    database.migrate("session", migrations);
    this.#sql = {
      putSession: database.prepare(
        "INSERT INTO session (id, record, acknowledged, last_seq, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET record = excluded.record, acknowledged = excluded.acknowledged, last_seq = excluded.last_seq",
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
      deleteLayer: database.prepare("DELETE FROM session_layer WHERE layer = ?"),
      putLayer: database.prepare("INSERT OR IGNORE INTO session_layer (layer, below) VALUES (?, ?)"),
      getAbove: database.prepare("SELECT layer FROM session_layer WHERE below = ?"),
      listOlder: database.prepare("SELECT id FROM session WHERE created_at < ?"),
      maxLayer: database.prepare(
        "SELECT max((SELECT ifnull(max(layer), 0) FROM session_state), (SELECT ifnull(max(layer), 0) FROM session_layer)) AS layer",
      ),
    };
  }

  /** Ids of the sessions that were created before this moment. */
  olderThan(createdBefore: number): string[] {
    return this.#sql.listOlder.all(createdBefore).map(({ id }) => String(id));
  }

  layersAbove(layer: number): number[] {
    return this.#sql.getAbove.all(layer).map((row) => Number(row.layer));
  }

  session(id: string): { record: WrittenRecord; acknowledged: number; lastSeq: number } | undefined {
    const row = this.#sql.getSession.get(id);
    if (row === undefined) return undefined;
    const record = JSON.parse(String(row.record)) as WrittenRecord;
    return { record, acknowledged: Number(row.acknowledged), lastSeq: Number(row.last_seq) };
  }

  /** Oldest first. */
  lines(session: string): LineBlock[] {
    return this.#sql.getLines.all(session).map(({ lines, last_seq, acknowledged }) => ({
      lines: String(lines).split("\n"),
      lastSeq: Number(last_seq),
      acknowledged: Number(acknowledged),
    }));
  }

  *state(layer: number): Generator<WrittenChange> {
    for (const { plugin, key, value } of this.#sql.getState.all(layer))
      yield [String(plugin), String(key), value === null ? null : String(value)];
  }

  get maxLayer(): number {
    return Number(this.#sql.maxLayer.get()?.layer ?? 0);
  }

  putSession(id: string, record: WrittenRecord, acknowledged: number, lastSeq: number): void {
    this.#sql.putSession.run(id, JSON.stringify(record), acknowledged, lastSeq, record.createdAt);
    const { layers } = record;
    for (let depth = layers.length - 1; depth >= 0; depth--) {
      const { changes } = this.#sql.putLayer.run(layers[depth] as number, layers[depth - 1] ?? noLayer);
      // If a layer exists, the layers below it exist as well.
      if (Number(changes) === 0) break;
    }
  }

  putLines(session: string, { lines, lastSeq, acknowledged }: LineBlock): void {
    this.#sql.putLines.run(
      session,
      lastSeq,
      acknowledged,
      lines.length === 1 ? (lines[0] as string) : lines.join("\n"),
    );
  }

  /** Removes the rows whose last line has this number or a lower one. */
  prune(session: string, lastSeq: number): void {
    this.#sql.prune.run(session, lastSeq);
  }

  putState(layer: number, [plugin, key, json]: WrittenChange): void {
    if (json === undefined) this.#sql.deleteState.run(layer, plugin, key);
    else this.#sql.putState.run(layer, plugin, key, json);
  }

  /** Removes a layer with the state in it. */
  dropLayer(layer: number): void {
    this.#sql.dropState.run(layer);
    this.#sql.deleteLayer.run(layer);
  }

  deleteSession(id: string): void {
    this.#sql.deleteSession.run(id);
    this.#sql.deleteLines.run(id);
  }
}
