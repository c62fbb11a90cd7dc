// Full-text search: the text of an entry, the words of a query, and the score of a match.
import type { JsonValue } from "../../protocol/json.ts";
import type { Entry } from "./entry.ts";
import type { Key } from "./key.ts";
import { memoryLimits } from "./limits.ts";

/**
 * The characters of words as FTS5's unicode61 defines them. Quotes and operators are excluded, so a query cannot
 * contain FTS5 syntax.
 */
const wordPattern = /[\p{L}\p{N}\p{M}\p{Co}]+/gu;
const diacritics = /[\u0300-\u036f]+/g;

/** The distinct words of a query. A query without words matches nothing. */
export function toWords(query: string): string[] {
  const words = new Set<string>();
  for (const [word] of query.slice(0, memoryLimits.maxQueryLength).matchAll(wordPattern)) {
    words.add(foldWord(word));
    if (words.size === memoryLimits.maxQueryWords) break;
  }
  words.delete("");
  return [...words];
}

const nonAscii = /[^\0-\x7f]/;

function foldWord(word: string): string {
  if (!nonAscii.test(word)) return word.toLowerCase();
  return word.toLowerCase().normalize("NFD").replace(diacritics, "").normalize("NFC");
}

/** A MATCH expression for entries with at least one of the words. */
export function toMatchExpression(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(" OR ");
}

/** The text of an entry: all strings and numbers in its key and content. */
export function toSearchText(key: Key, content: JsonValue): string {
  return `${leavesOf(key)}\n${leavesOf(content)}`;
}

function leavesOf(value: JsonValue): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  if (typeof value !== "object" || value === null) return "";
  return Object.values(value).map(leavesOf).join("\n");
}

/**
 * The score of a text match, from 0 to 1. The best match of a search gets the share of the query's words that it
 * contains; other matches get less in proportion to their rank. Raw BM25 is not comparable: it grows with the size of
 * the memory and is nearly zero in a memory of two entries.
 */
export function toTextScore(rank: number, bestRank: number, bestCoverage: number): number {
  return bestRank <= 0 ? 0 : Math.min(1, (bestCoverage * rank) / bestRank);
}

export interface RankedText<Item> {
  readonly item: Item;
  readonly score: number;
}

interface CountedWords {
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
}

/** Ranks by BM25 without an index, for small sets: the working tier and the overlays of forks. */
export class TextRanker {
  /** Entries are immutable, so their words are counted once. */
  readonly #words = new WeakMap<Entry, CountedWords>();

  /** Returns the entries with at least one of the words, in the given order. */
  rank(entries: readonly Entry[], words: readonly string[]): RankedText<Entry>[] {
    if (words.length === 0 || entries.length === 0) return [];
    const all = entries.map((entry) => this.#count(entry));
    const averageLength = all.reduce((sum, { length }) => sum + length, 0) / all.length || 1;
    const weights = words.map((word) => {
      const containing = all.reduce((count, { counts }) => count + (counts.has(word) ? 1 : 0), 0);
      return inverseFrequency(all.length, containing);
    });
    let bestRank = 0;
    let bestCoverage = 0;
    const ranked: { item: Entry; rank: number }[] = [];
    all.forEach(({ counts, length }, index) => {
      let rank = 0;
      let found = 0;
      words.forEach((word, position) => {
        const count = counts.get(word);
        if (count === undefined) return;
        found += 1;
        rank += (weights[position] as number) * saturation(count, length / averageLength);
      });
      if (found === 0) return;
      if (rank > bestRank) {
        bestRank = rank;
        bestCoverage = found / words.length;
      }
      ranked.push({ item: entries[index] as Entry, rank });
    });
    return ranked.map(({ item, rank }) => ({ item, score: toTextScore(rank, bestRank, bestCoverage) }));
  }

  #count(entry: Entry): CountedWords {
    const known = this.#words.get(entry);
    if (known !== undefined) return known;
    const counted = countWords(toSearchText(JSON.parse(entry.key) as Key, entry.content));
    this.#words.set(entry, counted);
    return counted;
  }
}

/** Folds each distinct word once. */
function countWords(text: string): CountedWords {
  const spelled = new Map<string, number>();
  let length = 0;
  for (const word of text.match(wordPattern) ?? []) {
    spelled.set(word, (spelled.get(word) ?? 0) + 1);
    length += 1;
  }
  const counts = new Map<string, number>();
  for (const [word, count] of spelled) {
    const folded = foldWord(word);
    counts.set(folded, (counts.get(folded) ?? 0) + count);
  }
  return { counts, length };
}

// The constants and the lower bound of FTS5, so that both ways of ranking agree.
const k1 = 1.2;
const b = 0.75;

function inverseFrequency(total: number, containing: number): number {
  return Math.max(1e-6, Math.log((total - containing + 0.5) / (containing + 0.5)));
}

function saturation(count: number, relativeLength: number): number {
  return (count * (k1 + 1)) / (count + k1 * (1 - b + b * relativeLength));
}
