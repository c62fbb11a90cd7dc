// An entry as the tiers store it, and the conditions of a search.
import type { JsonValue } from "../../protocol/json.ts";
import { toWireKey } from "./key.ts";
import type { MemoryEntry, Tier } from "./protocol.ts";

/** Times are in seconds since 1970. */
export interface Entry {
  /** Canonical form. */
  readonly key: string;
  readonly content: JsonValue;
  readonly tags: readonly string[];
  readonly source: string;
  readonly score: number;
  /** Whole seconds; 0 means that the entry does not expire. */
  readonly ttl: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly eventAt: number;
  readonly version: number;
}

/** An entry to store; the tier adds its version and times. */
export interface Draft extends Omit<Entry, "createdAt" | "updatedAt" | "version"> {
  /** Content as JSON. */
  readonly json: string;
  /** Bytes of content, key, tags and source. */
  readonly size: number;
  /** The text that queries search. */
  readonly text: string;
  readonly ifVersion: number | undefined;
  /** Set only in the semantic tier of a host with an embedder. */
  readonly vector?: Float32Array;
}

export interface Refusal {
  readonly code: "memory_full" | "version_conflict" | "schema_violation" | "forbidden";
  readonly message: string;
  readonly version?: number;
}

export type WriteOutcome = { readonly entry: Entry } | { readonly refusal: Refusal };

/** An entry must meet all conditions that are given. */
export interface Conditions {
  /** Canonical keys; empty matches every key. */
  readonly keys: ReadonlySet<string>;
  readonly tags: ReadonlySet<string>;
  readonly tagsMatch: "all" | "any";
  readonly since: number | undefined;
  readonly until: number | undefined;
}

export interface Search extends Conditions {
  /** Words to look for; undefined without a query. */
  readonly words: readonly string[] | undefined;
  /** The query as a vector, if the host has an embedder. */
  readonly vector?: Float32Array;
  readonly minScore: number;
  readonly limit: number;
}

/** An entry with its score in this search. */
export interface Match {
  readonly entry: Entry;
  readonly score: number;
}

export interface Found {
  /** In the order of `compareMatches`, at most the limit. */
  readonly matches: Match[];
  /** The number of matches before the limit. */
  readonly total: number;
}

export interface TierLimits {
  readonly maxEntries: number;
  readonly maxBytes: number;
  /** At the limits: evict the least recently used or oldest entry, or reject the new one. */
  readonly onFull: "evict" | "refuse";
}

export function expiresAt({ ttl, updatedAt }: Pick<Entry, "ttl" | "updatedAt">): number {
  return ttl === 0 ? Number.POSITIVE_INFINITY : updatedAt + ttl;
}

/** Best first if there is a query, then newest first; the same order in every tier. */
export function compareMatches(isQuery: boolean): (first: Match, second: Match) => number {
  return (first, second) =>
    (isQuery ? second.score - first.score : 0) ||
    second.entry.eventAt - first.entry.eventAt ||
    second.entry.version - first.entry.version;
}

/** Whether an entry meets the conditions; `toSqlFilter` is the same in SQL. */
export function meets(entry: Entry, { keys, tags, tagsMatch, since, until }: Conditions): boolean {
  if (keys.size > 0 && !keys.has(entry.key)) return false;
  if (since !== undefined && entry.eventAt < since) return false;
  if (until !== undefined && entry.eventAt >= until) return false;
  if (tags.size === 0) return true;
  // An entry has few tags; a request may have many.
  const found = new Set(entry.tags.filter((tag) => tags.has(tag))).size;
  return found >= (tagsMatch === "all" ? tags.size : 1);
}

/** Returns a refusal if the entry does not have the version that the request expects. */
export function versionConflict(ifVersion: number | undefined, version: number): Refusal | undefined {
  if (ifVersion === undefined || ifVersion === version) return undefined;
  const found = version === 0 ? "the entry does not exist" : `the entry has version ${version}`;
  return { code: "version_conflict", message: `expected version ${ifVersion}, but ${found}`, version };
}

export function memoryFull({ maxEntries, maxBytes }: TierLimits, tier: Tier): Refusal {
  return {
    code: "memory_full",
    message: `the ${tier} tier of this memory can hold at most ${maxEntries} entries and ${maxBytes} bytes; forget some`,
  };
}

/** The number of matches that fit into an answer of `maxBytes`, at least one. */
export function countFitting(sizes: Iterable<number>, maxBytes: number): number {
  let count = 0;
  let room = maxBytes;
  for (const size of sizes) {
    room -= size;
    if (room < 0 && count > 0) return count;
    count += 1;
  }
  return count;
}

export function toWireEntry(
  entry: Entry,
  tier: Tier,
  score = entry.score,
  { key, key_text } = toWireKey(entry.key),
): MemoryEntry {
  const { content, source, ttl, version } = entry;
  return {
    key,
    key_text,
    content,
    tier,
    tags: entry.tags as string[],
    source,
    score,
    ttl,
    created_at: entry.createdAt,
    updated_at: entry.updatedAt,
    event_at: entry.eventAt,
    version,
  };
}
