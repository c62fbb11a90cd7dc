import type { SqlRow, SqlStatement, SqlValue } from "../../plugin/ports/database.ts";
import { explainSqliteError } from "./sqlite.ts";

/** A statement whose errors name the file and the remedy: damage in a database shows only when the page is read. */
export class ExplainedStatement implements SqlStatement {
  readonly #statement: SqlStatement;
  readonly #path: string;

  constructor(statement: SqlStatement, path: string) {
    this.#statement = statement;
    this.#path = path;
  }

  run(...values: SqlValue[]): ReturnType<SqlStatement["run"]> {
    try {
      return this.#statement.run(...values);
    } catch (error) {
      throw explainSqliteError(error, this.#path);
    }
  }

  get(...values: SqlValue[]): SqlRow | undefined {
    try {
      return this.#statement.get(...values);
    } catch (error) {
      throw explainSqliteError(error, this.#path);
    }
  }

  all(...values: SqlValue[]): SqlRow[] {
    try {
      return this.#statement.all(...values);
    } catch (error) {
      throw explainSqliteError(error, this.#path);
    }
  }
}
