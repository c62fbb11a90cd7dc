// Finds entries in the layers of a view: the space itself and, in a fork, its overlays.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { SqlRow } from "../../../plugin/ports/database.ts";
import { isThenable } from "../../../protocol/awaitable.ts";
import { similarity } from "../embedding/vector.ts";
import { compareMatches, countFitting, type Entry, type Found, type Match, type Search } from "../entry.ts";
import { memoryLimits } from "../limits.ts";
import type { TextRanker } from "../text.ts";
import type { SpaceRow, SpaceTables } from "./space-tables.ts";
import { toSqlFilter } from "./sqlite-filter.ts";
import { readColumns, toEntry } from "./sqlite-schema.ts";
import type { SqlFilter, TextMatches } from "./text-index.ts";

/** How vector similarity and words are combined into one score. */
export interface Fusion {
  /** Only vectors of this model can be compared. */
  readonly model: string;
  /** From 0 to 1; the rest is the weight of the words. */
  readonly vectorWeight: number;
  /** An entry with a lower similarity, and without a word of the query, does not match. */
  readonly minSimilarity: number;
}

interface Layer {
  readonly space: SpaceRow;
  readonly filter: SqlFilter;
}

type Scored = { readonly id: number; readonly score: number };
type Sized = Scored & { readonly size: number };

/**
 * Up to this many entries are read at once, since they surely fit into an answer. With a higher limit, only those that
 * fit are read.
 */
const safeLimit = 16;
/** More than any memory has. With vectors, the best matches by words need not be the best overall. */
const everyMatch = 1e9;
const noMatches: Found = { matches: [], total: 0 };

export class SqliteSearch {
  readonly #tables: SpaceTables;
  readonly #ranker: TextRanker;
  readonly #fusion: Fusion | undefined;

  constructor(tables: SpaceTables, ranker: TextRanker, fusion: Fusion | undefined) {
    this.#tables = tables;
    this.#ranker = ranker;
    this.#fusion = fusion;
  }

  /** Asynchronous only if vectors are compared. */
  find(spaces: readonly SpaceRow[], search: Search, now: number): Found | Promise<Found> {
    const expiredAt = this.#hasExpired(now) ? now : undefined;
    const found = spaces.map((space, index) => {
      const above = spaces.slice(index + 1).map(({ id }) => id);
      const filter = toSqlFilter(search, space.id, above, expiredAt);
      return this.#findIn({ space, filter }, search);
    });
    if (found.some(isThenable)) return Promise.all(found).then((all) => combine(all, search));
    return combine(found as Found[], search);
  }

  /** Rarely true, since expired entries are collected. If false, searches need not check each entry. */
  #hasExpired(now: number): boolean {
    return (
      this.#tables.statements.get("SELECT 1 FROM memory_entry WHERE expires_at <= ? LIMIT 1").get(now) !== undefined
    );
  }

  #findIn(layer: Layer, search: Search): Found | Promise<Found> {
    const { words, vector, minScore, limit } = search;
    if (words === undefined) return this.#list(layer, search.keys.size + search.tags.size > 0, minScore, limit);
    if (vector !== undefined && this.#fusion !== undefined) {
      return this.#findFused(layer, words, vector, this.#fusion, minScore, limit);
    }
    const isBounded = limit <= safeLimit;
    const columns = isBounded ? `, ${readColumns}` : ", e.size AS size";
    const { matches, total } = this.#findText(layer, words, minScore, limit, columns);
    if (!isBounded) {
      const scored = matches.map(({ row, score }) => ({ id: row.id as number, size: row.size as number, score }));
      return { matches: this.#load(scored, compareMatches(true)), total };
    }
    const found = matches.map(({ row, score }) => ({ entry: toEntry(row), score }));
    return { matches: found.sort(compareMatches(true)), total };
  }

  #list({ space, filter }: Layer, isNarrow: boolean, minScore: number, limit: number): Found {
    // The unary plus keeps SQLite from scanning the whole space if keys or tags lead to a few entries.
    const from = `${isNarrow ? "+" : ""}e.space = ? ${space.overlay === "" ? "" : "AND e.is_deleted = 0"}`;
    const where = `WHERE ${from} ${filter.sql} ${minScore === 0 ? "" : "AND e.score >= ?"}`;
    const values = [space.id, ...filter.values, ...(minScore === 0 ? [] : [minScore])];
    const select = (columns: string) =>
      this.#tables.statements
        .get(`SELECT ${columns} FROM memory_entry e ${where} ORDER BY e.event_at DESC, e.version DESC LIMIT ?`)
        .all(...values, limit);
    const rows = select(limit <= safeLimit ? readColumns : "e.id, e.size, e.score");
    const matches =
      limit <= safeLimit
        ? rows.map((row) => ({ entry: toEntry(row), score: row.score as number }))
        : this.#load(rows as unknown as Sized[], compareMatches(false));
    if (rows.length < limit) return { matches, total: rows.length };
    if (filter.sql === "" && minScore === 0) return { matches, total: space.entries };
    const counted = this.#tables.statements.get(`SELECT count(*) AS total FROM memory_entry e ${where}`).get(...values);
    return { matches, total: counted?.total as number };
  }

  #findText(
    { space, filter }: Layer,
    words: readonly string[],
    minScore: number,
    limit: number,
    columns: string,
  ): TextMatches {
    if (space.overlay === "") return this.#tables.indexOf(space.id).search(words, filter, minScore, limit, columns);
    const rows = this.#tables.statements
      .get(
        `SELECT e.id, e.size, ${readColumns} FROM memory_entry e WHERE e.space = ? AND e.is_deleted = 0 ${filter.sql}`,
      )
      .all(space.id, ...filter.values);
    const rowOf = new Map<Entry, SqlRow>(rows.map((row) => [toEntry(row), row]));
    const matches = this.#ranker
      .rank([...rowOf.keys()], words)
      .filter(({ score }) => score >= minScore)
      .map(({ item, score }) => ({ row: rowOf.get(item) as SqlRow, score }))
      .sort((first, second) => second.score - first.score);
    return { matches: matches.slice(0, limit), total: matches.length };
  }

  async #findFused(
    layer: Layer,
    words: readonly string[],
    vector: Float32Array,
    { model, vectorWeight, minSimilarity }: Fusion,
    minScore: number,
    limit: number,
  ): Promise<Found> {
    const scores = new Map<number, number>();
    for (const { row, score } of this.#findText(layer, words, 0, everyMatch, "").matches) {
      scores.set(row.id as number, (1 - vectorWeight) * score);
    }
    for await (const { id, score } of this.#similar(layer, model, vector)) {
      const text = scores.get(id);
      if (text !== undefined || score >= minSimilarity) scores.set(id, (text ?? 0) + vectorWeight * score);
    }
    const scored = Array.from(scores, ([id, score]) => ({ id, score }))
      .filter(({ score }) => score >= minScore)
      .sort((first, second) => second.score - first.score || second.id - first.id);
    const chosen = scored.slice(0, limit);
    const best = this.#stillThere(layer, chosen);
    const total = scored.length - chosen.length + best.length;
    return { matches: this.#load(best, compareMatches(true)), total };
  }

  /** Other sessions may have written meanwhile: an entry may be deleted, or its id may belong to another space. */
  #stillThere({ space, filter }: Layer, chosen: readonly Scored[]): Sized[] {
    const rows = this.#tables.statements
      .get(
        `SELECT e.id, e.size FROM memory_entry e
         WHERE e.id IN (SELECT value FROM json_each(?)) AND +e.space = ? AND e.is_deleted = 0 ${filter.sql}`,
      )
      .all(JSON.stringify(chosen.map(({ id }) => id)), space.id, ...filter.values);
    const sizeOf = new Map(rows.map(({ id, size }) => [id as number, size as number]));
    return chosen.flatMap(({ id, score }) => {
      const size = sizeOf.get(id);
      return size === undefined ? [] : { id, score, size };
    });
  }

  /**
   * Compares every vector, in several turns so that other work can run. Exact, unlike an index for approximate search.
   */
  async *#similar({ space, filter }: Layer, model: string, vector: Float32Array): AsyncGenerator<Scored> {
    const next = this.#tables.statements.get(
      `SELECT e.id, v.vector FROM memory_entry e JOIN memory_vector v ON v.entry = e.id AND v.model = ?
       WHERE e.space = ? AND e.is_deleted = 0 ${filter.sql} AND e.id > ? ORDER BY e.id LIMIT ?`,
    );
    const { maxVectorsPerTurn } = memoryLimits;
    for (let last = 0; ; ) {
      const rows = next.all(model, space.id, ...filter.values, last, maxVectorsPerTurn);
      const scored = rows.map((row) => ({
        id: row.id as number,
        score: similarity(vector, row.vector as Uint8Array),
      }));
      yield* scored;
      if (rows.length < maxVectorsPerTurn) return;
      last = rows.at(-1)?.id as number;
      await nextTurn();
    }
  }

  /** Loads as many of these entries as fit into an answer. */
  #load(best: readonly Sized[], compare: (first: Match, second: Match) => number): Match[] {
    const byId = this.#tables.statements.get(`SELECT ${readColumns} FROM memory_entry e WHERE e.id = ?`);
    const sizes = best.map(({ size }) => size);
    const fitting = best.slice(0, countFitting(sizes, memoryLimits.maxAnswerBytes));
    const matches = fitting.flatMap(({ id, score }) => {
      const row = byId.get(id);
      return row === undefined ? [] : { entry: toEntry(row), score };
    });
    return matches.sort(compare);
  }
}

function combine(found: readonly Found[], { words, limit }: Search): Found {
  const [only] = found;
  if (found.length <= 1) return only ?? noMatches;
  return {
    matches: found
      .flatMap(({ matches }) => matches)
      .sort(compareMatches(words !== undefined))
      .slice(0, limit),
    total: found.reduce((sum, { total }) => sum + total, 0),
  };
}
