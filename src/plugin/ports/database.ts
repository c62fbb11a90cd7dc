// The port for persistent data: one SQL database per host, one writer, one commit per turn.

export type SqlValue = string | number | bigint | null | Uint8Array;
export type SqlRow = Record<string, unknown>;

export interface SqlStatement {
  run(...values: SqlValue[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  get(...values: SqlValue[]): SqlRow | undefined;
  all(...values: SqlValue[]): SqlRow[];
}

export interface Database {
  /** False if the data is lost when the process ends. */
  readonly isPersistent: boolean;
  /** Runs the migrations that the component's tables do not have yet. Throws if the tables are of a newer release. */
  migrate(component: string, migrations: readonly string[]): void;
  /** Prepare once and reuse. Statements that change data may only run within `write`. */
  prepare(sql: string): SqlStatement;
  /**
   * Runs statements that change data. All writes of one turn are committed together at its end; readers of this object see
   * them before that. If `work` throws, only its own statements are rolled back.
   */
  write<Result>(work: () => Result): Result;
  /**
   * Calls back once, just before this turn is committed, so that the caller can add writes to it. Begins a turn if none is
   * open. With an error if the turn is already lost: the callback must not write then, and must report the loss itself.
   */
  beforeCommit(callback: (error?: Error) => void): void;
  /** Set once writes can no longer become durable, for example after a failed sync. */
  readonly failure?: Error | undefined;
  /**
   * Calls back when all writes so far are as durable as the database is configured to make them, or with an error if that
   * failed. Callbacks run in order.
   */
  afterCommit(callback: (error?: Error) => void): void;
  /** Opens the log of turns for an owner; once per name. Absent if the database has only tables. */
  openLog?(owner: TurnLogOwner): TurnLog;
  close(): Promise<void>;
}

/**
 * A log for data that is written often and soon replaced: appending is cheaper than writing to tables. The records of a turn
 * become durable together with the rows that the turn wrote.
 */
export interface TurnLog {
  /** Adds a record to this turn; it must not contain U+001E or U+001F, which JSON never does. */
  append(record: string): void;
}

/**
 * A writer of the log. It sees only its own records, and can convert them to rows. The records of a turn become durable
 * together, whichever owners they are of.
 */
export interface TurnLogOwner {
  /** Identifies its records in the log, also after a restart. */
  readonly name: string;
  /** Called for each of its records in the log when it is opened, oldest first. If it throws, they are kept unchanged. */
  recover(record: string): void;
  /** Called within a transaction: writes its records in the log, and those that this turn has appended, to tables. */
  fold(): void;
  /** This turn is in the log (`logged`), in tables together with the whole log (`folded`), or lost. */
  ended(how: "logged" | "folded" | "lost"): void;
}
