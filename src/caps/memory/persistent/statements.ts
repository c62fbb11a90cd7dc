import type { Database, SqlStatement } from "../../../host/ports/database.ts";

/** Statements by their text, prepared when first used; the oldest go, since each space brings texts of its own. */
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
