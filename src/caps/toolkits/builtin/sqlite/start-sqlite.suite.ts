// A host with the built-in toolkits and databases for its sqlite toolkit, for the tests of this folder.
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { startToolkits } from "../../start-toolkits.suite.ts";

export const peopleSchema = `CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
  CREATE VIEW names AS SELECT name FROM person;
  CREATE INDEX by_name ON person (name);
  INSERT INTO person (name) VALUES ('Ada'), ('Grace'), ('Edsger');`;

export function startSqlite(
  sqlite: { allow_write?: boolean; timeout_ms?: number; memory_mb?: number; max_rows?: number } = {},
  folders: string[] = [],
) {
  return startToolkits({ sqlite, folders });
}

export type SqliteHost = Awaited<ReturnType<typeof startSqlite>>;

export function makeDatabase(path: string, sql = peopleSchema): void {
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

export const query = (host: SqliteHost, sql: string, more: object = {}) => host.call("sqlite__query", { sql, ...more });
