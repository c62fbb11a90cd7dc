// The full-text index of one space, in an FTS5 table of its own: word frequencies in memories of other agents must
// neither influence a score nor cost time. It has words only; texts are in the entries.
import type { SqlRow } from "../../../plugin/ports/database.ts";
import { toMatchExpression, toTextScore } from "../text.ts";
import type { Statements } from "./statements.ts";

export type Tokenizer = "unicode61" | "porter";

const tokenizers: Record<Tokenizer, string> = {
  unicode61: "unicode61 remove_diacritics 2",
  porter: "porter unicode61 remove_diacritics 2",
};

export interface TextMatches {
  /** Best first. Each row has the id and the columns of the entry that were requested. */
  readonly matches: { readonly row: SqlRow; readonly score: number }[];
  readonly total: number;
}

/** Conditions on the entry of a match, as SQL on `e` with its values; empty without conditions. */
export interface SqlFilter {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

export class TextIndex {
  readonly #statements: Statements;
  readonly #table: string;
  readonly #insert: string;

  constructor(statements: Statements, space: number) {
    this.#statements = statements;
    this.#table = `memory_text_${space}`;
    this.#insert = `INSERT INTO ${this.#table} (rowid, text) VALUES (?, ?)`;
  }

  create(tokenizer: Tokenizer): void {
    this.#statements
      .get(
        `CREATE VIRTUAL TABLE ${this.#table} USING fts5 (text, content = '', contentless_delete = 1, tokenize = '${tokenizers[tokenizer]}')`,
      )
      .run();
  }

  add(id: number, text: string): void {
    // FTS5 stops reading at a NUL character.
    this.#statements.get(this.#insert).run(id, text.includes("\0") ? text.replaceAll("\0", " ") : text);
  }

  remove(id: number): void {
    this.#statements.get(`DELETE FROM ${this.#table} WHERE rowid = ?`).run(id);
  }

  clear(): void {
    this.#statements.get(`INSERT INTO ${this.#table} (${this.#table}) VALUES ('delete-all')`).run();
  }

  drop(): void {
    this.#statements.get(`DROP TABLE IF EXISTS ${this.#table}`).run();
  }

  search(words: readonly string[], filter: SqlFilter, minScore: number, limit: number, columns: string): TextMatches {
    if (words.length === 0) return { matches: [], total: 0 };
    const expression = toMatchExpression(words);
    // One more than the limit shows whether a count is needed. At least one row, since the best match is the measure of
    // the others.
    const asked = limit + 1;
    const rows = this.#statements.get(this.#best(filter, columns)).all(expression, ...filter.values, asked);
    const [first] = rows;
    if (first === undefined) return { matches: [], total: 0 };
    const bestRank = -(first.rank as number);
    const coverage = this.#coverage(first.id as number, words);
    const scored = rows.map((row) => ({ row, score: toTextScore(-(row.rank as number), bestRank, coverage) }));
    const matches = minScore > 0 ? scored.filter(({ score }) => score >= minScore) : scored;
    const isAll = rows.length < asked || matches.length < scored.length;
    const total = isAll ? matches.length : this.#count(expression, filter, minScore, bestRank, coverage);
    return { matches: matches.slice(0, limit), total };
  }

  /** Of equally ranked entries the newest are returned; FTS5 alone would return the oldest. */
  #best(filter: SqlFilter, columns: string): string {
    const ranked = "t.rowid AS id, t.rank AS rank";
    // With the unary plus, SQLite keeps only as many rows as the limit, instead of letting FTS5 sort all matches.
    const order = "ORDER BY +t.rank, t.rowid DESC LIMIT ?";
    if (filter.sql !== "" || columns === "") return this.#select(ranked + columns, filter, order);
    const best = this.#select(ranked, filter, order);
    return `SELECT t.id, t.rank ${columns} FROM (${best}) t CROSS JOIN memory_entry e ON e.id = t.id ORDER BY t.rank`;
  }

  #count(expression: string, filter: SqlFilter, minScore: number, bestRank: number, coverage: number): number {
    const { sql, values } = filter;
    // FTS5 ranks are negative and proportional to the score.
    const bound =
      minScore > 0 ? { sql: `${sql} AND t.rank <= ?`, values: [(-minScore * bestRank) / coverage] } : undefined;
    const statement = this.#statements.get(this.#select("count(*) AS total", bound ?? filter, ""));
    return statement.get(expression, ...values, ...(bound?.values ?? []))?.total as number;
  }

  /** The share of the words that an entry contains. */
  #coverage(id: number, words: readonly string[]): number {
    if (words.length === 1) return 1;
    const has = `EXISTS (SELECT 1 FROM ${this.#table} WHERE ${this.#table} MATCH ? AND rowid = ?)`;
    // One statement for all words: each statement locks the file.
    const counted = this.#statements.get(`SELECT ${words.map(() => has).join(" + ")} AS found`);
    const found = counted.get(...words.flatMap((word) => [toMatchExpression([word]), id]))?.found as number;
    return found / words.length;
  }

  /**
   * FTS5 sorts by rank, so that only the best matches are joined. A condition on entries reads the entry of each match.
   */
  #select(columns: string, { sql }: Pick<SqlFilter, "sql">, rest: string): string {
    const needsEntry = sql !== "" || columns.includes("e.");
    const from = needsEntry ? `${this.#table} t CROSS JOIN memory_entry e ON e.id = t.rowid` : `${this.#table} t`;
    return `SELECT ${columns} FROM ${from} WHERE t.${this.#table} MATCH ? ${sql} ${rest}`;
  }
}
