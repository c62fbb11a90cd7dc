// The full-text index of one space: an FTS5 table of its own, so that how often a word occurs in other agents' memories
// neither shows in a score nor costs time. Holds words only; texts stay in the entries.
import type { SqlRow } from "../../../host/ports/database.ts";
import { toMatchExpression, toTextScore } from "../text.ts";
import type { Statements } from "./statements.ts";

export type Tokenizer = "unicode61" | "porter";

const tokenizers: Record<Tokenizer, string> = {
  unicode61: "unicode61 remove_diacritics 2",
  porter: "porter unicode61 remove_diacritics 2",
};

export interface TextMatches {
  /** Best first; each row has the id and, where they were asked for, columns of the entry. */
  readonly matches: { readonly row: SqlRow; readonly score: number }[];
  readonly total: number;
}

/** Conditions on the entry behind a match, as SQL on `e` with its values; empty where there are none. */
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
    // Not kept: it runs once.
    this.#statements
      .get(
        `CREATE VIRTUAL TABLE ${this.#table} USING fts5 (text, content = '', contentless_delete = 1, tokenize = '${tokenizers[tokenizer]}')`,
      )
      .run();
  }

  add(id: number, text: string): void {
    // FTS5 reads no further than a NUL.
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
    // One more than asked for says whether a count is needed; never none, for the best is the measure of the others.
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

  /** Of those that rank alike, the ones that were added last: FTS5 by itself leaves the first. */
  #best(filter: SqlFilter, columns: string): string {
    const ranked = "t.rowid AS id, t.rank AS rank";
    // The plus: SQLite keeps no more than are asked for, where FTS5 would sort all matches.
    const order = "ORDER BY +t.rank, t.rowid DESC LIMIT ?";
    if (filter.sql !== "" || columns === "") return this.#select(ranked + columns, filter, order);
    const best = this.#select(ranked, filter, order);
    return `SELECT t.id, t.rank ${columns} FROM (${best}) t CROSS JOIN memory_entry e ON e.id = t.id ORDER BY t.rank`;
  }

  #count(expression: string, filter: SqlFilter, minScore: number, bestRank: number, coverage: number): number {
    const { sql, values } = filter;
    // FTS5 ranks are negative, and the score is proportional to them.
    const bound =
      minScore > 0 ? { sql: `${sql} AND t.rank <= ?`, values: [(-minScore * bestRank) / coverage] } : undefined;
    const statement = this.#statements.get(this.#select("count(*) AS total", bound ?? filter, ""));
    return statement.get(expression, ...values, ...(bound?.values ?? []))?.total as number;
  }

  /** The share of the words that an entry has. */
  #coverage(id: number, words: readonly string[]): number {
    if (words.length === 1) return 1;
    const has = `EXISTS (SELECT 1 FROM ${this.#table} WHERE ${this.#table} MATCH ? AND rowid = ?)`;
    // One statement for all words: each costs a lock of the file.
    const counted = this.#statements.get(`SELECT ${words.map(() => has).join(" + ")} AS found`);
    const found = counted.get(...words.flatMap((word) => [toMatchExpression([word]), id]))?.found as number;
    return found / words.length;
  }

  /** FTS5 itself sorts by rank, so that only the best are joined; a condition on entries costs a look at each match. */
  #select(columns: string, { sql }: Pick<SqlFilter, "sql">, rest: string): string {
    const needsEntry = sql !== "" || columns.includes("e.");
    const from = needsEntry ? `${this.#table} t CROSS JOIN memory_entry e ON e.id = t.rowid` : `${this.#table} t`;
    return `SELECT ${columns} FROM ${from} WHERE t.${this.#table} MATCH ? ${sql} ${rest}`;
  }
}
