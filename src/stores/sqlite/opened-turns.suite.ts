// An owner of the log of turns whose records become rows as they are.
import { copyFileSync } from "node:fs";
import type { Database, TurnLog } from "../../plugin/ports/database.ts";
import { createSqliteDatabase, type SqliteDatabaseOptions } from "./sqlite-database.ts";

export interface OpenedTurns {
  database: Database;
  /** The records that were in the log when it was opened. */
  recovered: string[];
  /** How turns have ended. */
  ends: string[];
  append(value: string): Promise<Error | undefined>;
  put(value: string): void;
  /** The rows in tables, then the records that are only in the log. */
  rows(): string[];
}

export async function openTurns(
  path: string,
  { name = "test", ...options }: Partial<SqliteDatabaseOptions> & { name?: string } = {},
): Promise<OpenedTurns> {
  const database = await createSqliteDatabase({ path, durability: "power", ...options });
  database.migrate("test", ["CREATE TABLE kept (value TEXT NOT NULL)"]);
  const insert = database.prepare("INSERT INTO kept (value) VALUES (?)");
  const select = database.prepare("SELECT value FROM kept ORDER BY rowid");
  const ends: string[] = [];
  let unfolded: string[] = [];
  let fresh: string[] = [];
  const recovered: string[] = [];
  const log = database.openLog?.({
    name,
    recover(record) {
      recovered.push(record);
      unfolded.push(record);
    },
    fold() {
      for (const value of [...unfolded, ...fresh]) insert.run(value);
    },
    ended(how) {
      ends.push(how);
      if (how === "folded") unfolded = [];
      if (how === "logged") unfolded.push(...fresh);
      fresh = [];
    },
  }) as TurnLog;
  return {
    database,
    recovered,
    ends,
    append(value) {
      log.append(value);
      fresh.push(value);
      return new Promise((resolve) => database.afterCommit(resolve));
    },
    put: (value) => database.write(() => void insert.run(value)),
    rows: () => [...select.all().map(({ value }) => String(value)), ...unfolded],
  };
}

/** Copies the files as a killed process leaves them, under another name. */
export function leaveTurns(path: string, left: string): string {
  for (const suffix of ["", "-wal", "-turns"]) copyFileSync(path + suffix, left + suffix);
  return left;
}
