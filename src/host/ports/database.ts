// The port behind which everything that persists is kept: one SQL database per host, one writer, one commit per turn.

export type SqlValue = string | number | bigint | null | Uint8Array;
export type SqlRow = Record<string, unknown>;

export interface SqlStatement {
  run(...values: SqlValue[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  get(...values: SqlValue[]): SqlRow | undefined;
  all(...values: SqlValue[]): SqlRow[];
}

export interface Database {
  /** False for one that is gone with the process. */
  readonly isPersistent: boolean;
  /** Brings the tables of one component to the version its migrations end at. Refuses those of a newer release. */
  migrate(component: string, migrations: readonly string[]): void;
  /** Prepare once and keep: statements are for reading, or for use within `write`. */
  prepare(sql: string): SqlStatement;
  /**
   * Runs statements that change something. All writes of one turn are committed together at its end; until then readers
   * of this database see them already. What `work` throws undoes its own statements and nothing else.
   */
  write<Result>(work: () => Result): Result;
  /**
   * Calls back once, just before the end of this turn, to write what belongs into it; begins one where none is open.
   * With an error where the turn is lost already: nothing is to be written then, and nobody else says so.
   */
  beforeCommit(callback: (error?: Error) => void): void;
  /** Why nothing that is written becomes durable any more; absent as long as that can be. */
  readonly failure?: Error | undefined;
  /**
   * Calls back when everything written so far is as durable as the database was asked to be, or with the reason why it is
   * not. In order.
   */
  afterCommit(callback: (error?: Error) => void): void;
  /** Opens the log of turns, which has one owner. Absent where tables are all there is. */
  openLog?(owner: TurnLogOwner): TurnLog;
  close(): Promise<void>;
}

/**
 * A cheaper place than tables for what is written often and soon replaced. What a turn appends is durable with the turn,
 * and together with what the turn wrote to tables.
 */
export interface TurnLog {
  /** Adds a record to this turn; it must not contain U+001E, which JSON never does. */
  append(record: string): void;
}

/** Whoever appends to the log also knows how its records become rows. */
export interface TurnLogOwner {
  /** Called for each record that the log has when it is opened, oldest first. What it throws leaves the log as it is. */
  recover(record: string): void;
  /** Within a transaction: writes all to tables that is in the log, and what this turn has appended. */
  fold(): void;
  /** This turn is in the log; or it is in tables, with all that the log had; or it is lost. */
  ended(how: "logged" | "folded" | "lost"): void;
}
