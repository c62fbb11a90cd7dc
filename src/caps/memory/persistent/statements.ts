import type { Database, SqlStatement } from "../../../plugin/ports/database.ts";

/**
 * Prepared statements by their SQL, prepared on first use. The oldest are dropped, since each space has statements of
 * its own.
 */
export class Statements {
  readonly #database: Database;
  readonly #statements = new Map<string, SqlStatement>();
  readonly #maxStatements: number;

  constructor(database: Database, maxStatements = 1024) {
    this.#database = database;
    this.#maxStatements = maxStatements;
  }

  get(sql: string): SqlStatement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    if (this.#statements.size >= this.#maxStatements) {
      const [oldest] = this.#statements.keys();
      this.#statements.delete(oldest as string);
    }
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
