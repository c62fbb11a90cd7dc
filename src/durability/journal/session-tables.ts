// The tables of the journal: what a session is, what it said and what its plugins keep. Knows nothing of turns.
import type { Database, SqlStatement } from "../../host/ports/database.ts";
import type { SessionRecord, WrittenChange } from "./session-record.ts";

const migrations = [
  `CREATE TABLE session (id TEXT PRIMARY KEY, record TEXT NOT NULL, acknowledged INTEGER NOT NULL DEFAULT 0, last_seq INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
   CREATE TABLE session_line (session TEXT NOT NULL, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, lines TEXT NOT NULL, PRIMARY KEY (session, first_seq)) STRICT, WITHOUT ROWID;
   CREATE TABLE session_state (layer INTEGER NOT NULL, plugin TEXT NOT NULL, key TEXT NOT NULL, value TEXT, PRIMARY KEY (layer, plugin, key)) STRICT, WITHOUT ROWID;`,
  // Lines are written without the session's own row, so theirs also says what the peer had acknowledged by then. Rows lie
  // in the order of writing: that takes half the time of a table that is sorted by session.
  `ALTER TABLE session_line RENAME TO old_session_line;
   CREATE TABLE session_line (id INTEGER PRIMARY KEY, session TEXT NOT NULL, last_seq INTEGER NOT NULL, acknowledged INTEGER NOT NULL, lines TEXT NOT NULL) STRICT;
   CREATE INDEX session_line_place ON session_line (session, last_seq);
   INSERT INTO session_line (session, last_seq, acknowledged, lines) SELECT session, last_seq, 0, lines FROM old_session_line ORDER BY session, first_seq;
   DROP TABLE old_session_line;`,
  // From here on the log of turns belongs to these tables: a release that does not know it must not open them.
  "SELECT 1",
];

/** Lines that follow one another. */
export interface LineBlock {
  lines: readonly string[];
  /** The number of the last one. */
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
    | "listSessions"
    | "maxLayer",
    SqlStatement
  >;

  constructor(database: Database) {
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
  }

  *sessions(): Generator<[id: string, record: SessionRecord]> {
    for (const { id, record } of this.#sql.listSessions.all())
      yield [String(id), JSON.parse(String(record)) as SessionRecord];
  }

  session(id: string): { record: SessionRecord; acknowledged: number; lastSeq: number } | undefined {
    const row = this.#sql.getSession.get(id);
    if (row === undefined) return undefined;
    const record = JSON.parse(String(row.record)) as SessionRecord;
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

  putSession(id: string, record: SessionRecord, acknowledged: number, lastSeq: number): void {
    this.#sql.putSession.run(id, JSON.stringify(record), acknowledged, lastSeq);
  }

  putLines(session: string, { lines, lastSeq, acknowledged }: LineBlock): void {
    this.#sql.putLines.run(
      session,
      lastSeq,
      acknowledged,
      lines.length === 1 ? (lines[0] as string) : lines.join("\n"),
    );
  }

  /** Takes away what ends with this line or before it. */
  prune(session: string, lastSeq: number): void {
    this.#sql.prune.run(session, lastSeq);
  }

  putState(layer: number, [plugin, key, json]: WrittenChange): void {
    if (json === undefined) this.#sql.deleteState.run(layer, plugin, key);
    else this.#sql.putState.run(layer, plugin, key, json);
  }

  dropState(layer: number): void {
    this.#sql.dropState.run(layer);
  }

  deleteSession(id: string): void {
    this.#sql.deleteSession.run(id);
    this.#sql.deleteLines.run(id);
  }
}
