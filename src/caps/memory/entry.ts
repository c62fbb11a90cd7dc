// An entry as the tiers keep it, and the conditions under which they find it.
import type { JsonValue } from "../../protocol/json.ts";
import { toWireKey } from "./key.ts";
import type { MemoryEntry, Tier } from "./protocol.ts";

/** Times in seconds since 1970. */
export interface Entry {
  /** Canonical form. */
  readonly key: string;
  readonly content: JsonValue;
  readonly tags: readonly string[];
  readonly source: string;
  readonly score: number;
  /** Whole seconds; 0 lives for ever. */
  readonly ttl: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly eventAt: number;
  readonly version: number;
}

/** An entry to be stored; the tier adds its version and times. */
export interface Draft extends Omit<Entry, "createdAt" | "updatedAt" | "version"> {
  /** Content as JSON. */
  readonly json: string;
  /** Bytes of content, key, tags and source. */
  readonly size: number;
  /** What queries find it by. */
  readonly text: string;
  readonly ifVersion: number | undefined;
  /** Only in the semantic tier, where the host has an embedder. */
  readonly vector?: Float32Array;
}

export interface Refusal {
  readonly code: "memory_full" | "version_conflict" | "schema_violation" | "forbidden";
  readonly message: string;
  readonly version?: number;
}

export type WriteOutcome = { readonly entry: Entry } | { readonly refusal: Refusal };

/** All that are given must hold. */
export interface Conditions {
  /** Canonical; empty for any. */
  readonly keys: ReadonlySet<string>;
  readonly tags: ReadonlySet<string>;
  readonly tagsMatch: "all" | "any";
  readonly since: number | undefined;
  readonly until: number | undefined;
}

export interface Search extends Conditions {
  /** Words to look for; undefined where there is no query. */
  readonly words: readonly string[] | undefined;
  /** The query as a vector, where the host has an embedder. */
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
  /** In the order of `compareMatches`, no more than the limit. */
  readonly matches: Match[];
  /** Before the limit. */
  readonly total: number;
}

export interface TierLimits {
  readonly maxEntries: number;
  readonly maxBytes: number;
  /** What happens beyond: the least recently used or oldest goes, or the new entry is refused. */
  readonly onFull: "evict" | "refuse";
}

export function expiresAt({ ttl, updatedAt }: Pick<Entry, "ttl" | "updatedAt">): number {
  return ttl === 0 ? Number.POSITIVE_INFINITY : updatedAt + ttl;
}

/** Best first, then newest; with a query or without, and the same in every tier. */
export function compareMatches(isQuery: boolean): (first: Match, second: Match) => number {
  return (first, second) =>
    (isQuery ? second.score - first.score : 0) ||
    second.entry.eventAt - first.entry.eventAt ||
    second.entry.version - first.entry.version;
}

/** Whether an entry meets the conditions; the persistent tiers say the same in SQL. */
export function meets(entry: Entry, { keys, tags, tagsMatch, since, until }: Conditions): boolean {
  if (keys.size > 0 && !keys.has(entry.key)) return false;
  if (since !== undefined && entry.eventAt < since) return false;
  if (until !== undefined && entry.eventAt >= until) return false;
  if (tags.size === 0) return true;
  // The tags of an entry are few; those that are asked for may be many.
  const found = new Set(entry.tags.filter((tag) => tags.has(tag))).size;
  return found >= (tagsMatch === "all" ? tags.size : 1);
}

/** Why a version that was asked for is not the one found; undefined where it is. */
export function versionConflict(ifVersion: number | undefined, version: number): Refusal | undefined {
  if (ifVersion === undefined || ifVersion === version) return undefined;
  const found = version === 0 ? "there is no such entry" : `the entry has version ${version}`;
  return { code: "version_conflict", message: `expected version ${ifVersion}, and ${found}`, version };
}

export function memoryFull({ maxEntries, maxBytes }: TierLimits, tier: Tier): Refusal {
  return {
    code: "memory_full",
    message: `the ${tier} tier of this memory holds at most ${maxEntries} entries and ${maxBytes} bytes; forget some`,
  };
}

/** What an answer carries of matches in their order: those before the bytes are used up, and at least one. */
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
