// The working tier: entries of one session, stored in its state, which takes care of forks, snapshots and crashes. Its
// size is limited; the least recently used entry is evicted first.
import { localPrefix, type SessionState } from "../../../plugin/session-state.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import {
  type Conditions,
  compareMatches,
  type Draft,
  type Entry,
  expiresAt,
  type Found,
  meets,
  memoryFull,
  type Search,
  type TierLimits,
  versionConflict,
  type WriteOutcome,
} from "../entry.ts";
import type { TextRanker } from "../text.ts";
import { Recency } from "./recency.ts";

/**
 * Followed by the memory id and a slash, which no memory id contains, so keys of different memories cannot collide.
 */
const entryPrefix = "working/";
const usePrefix = `${localPrefix}use/`;
const clockKey = `${localPrefix}clock`;

/** Stored with its size, so that the size need not be computed again. */
type WorkingEntry = Entry & { readonly size: number };

interface Shelf {
  /** Canonical keys with the bytes of their entries. */
  readonly sizes: Recency;
  bytes: number;
  /** No entry of the shelf expires before this time. */
  expiresAt: number;
}

/**
 * Sizes and order of use of a session's entries, by memory. A cache: computing it from the state reads every entry.
 */
export interface Shelves {
  readonly byMemory: Map<string, Shelf>;
  /** The clock value at which this cache is valid. The state may be replaced by an earlier one at any time. */
  readonly clock: number;
}

export class WorkingTier {
  readonly #state: SessionState;
  readonly #limits: TierLimits;
  readonly #ranker: TextRanker;
  #shelves: Map<string, Shelf>;
  #shelvedAt: number | undefined;

  /** `inherited` is the cache of the parent at the time of the fork. */
  constructor(state: SessionState, limits: TierLimits, ranker: TextRanker, inherited?: Shelves) {
    this.#state = state;
    this.#limits = limits;
    this.#ranker = ranker;
    this.#shelves = inherited?.byMemory ?? new Map();
    this.#shelvedAt = inherited?.clock;
  }

  /** The cache for a fork that starts now; undefined if it is not up to date. */
  forkShelves(): Shelves | undefined {
    const clock = this.#clock();
    if (clock !== this.#shelvedAt) return undefined;
    const forked = Array.from(this.#shelves, ([memoryId, shelf]) => {
      return [memoryId, { ...shelf, sizes: shelf.sizes.fork() }] as const;
    });
    return { byMemory: new Map(forked), clock };
  }

  store(memoryId: string, drafts: readonly Draft[], now: number): WriteOutcome[] {
    const shelf = this.#shelf(memoryId);
    return drafts.map((draft) => this.#put(memoryId, shelf, draft, now));
  }

  find(memoryId: string, search: Search, now: number): Found {
    const { words, minScore, limit } = search;
    const shelf = this.#shelf(memoryId);
    const entries = this.#meeting(memoryId, shelf, search, now);
    const scored =
      words === undefined
        ? entries.map((entry) => ({ entry, score: entry.score }))
        : this.#ranker.rank(entries, words).map(({ item, score }) => ({ entry: item, score }));
    const matches = scored.filter(({ score }) => minScore === 0 || score >= minScore);
    const found = matches.sort(compareMatches(words !== undefined)).slice(0, limit);
    return { matches: found, total: matches.length };
  }

  /** Marks the returned entries as used, the best match as the most recent. */
  use(memoryId: string, keys: readonly string[]): void {
    // The order of use matters only for eviction.
    if (this.#limits.onFull !== "evict" || keys.length === 0) return;
    const shelf = this.#shelf(memoryId);
    for (const key of keys.toReversed()) {
      const size = shelf.sizes.get(key);
      if (size === undefined) continue;
      shelf.sizes.set(key, size);
      this.#state.set(`${usePrefix}${memoryId}/${key}`, this.#tick());
    }
  }

  forget(memoryId: string, conditions: Conditions, now: number): number {
    const shelf = this.#shelf(memoryId);
    const entries = this.#meeting(memoryId, shelf, conditions, now);
    for (const { key } of entries) this.#remove(memoryId, shelf, key);
    return entries.length;
  }

  /**
   * Called after the entries of a fork were merged: versions continue from the larger clock, and the cache is rebuilt.
   */
  merge(fork: SessionState): void {
    this.#state.set(clockKey, Math.max(this.#clock(), clockOf(fork)) + 1);
    if (this.#limits.onFull !== "evict") return;
    for (const [memoryId, shelf] of this.#known()) {
      for (const key of shelf.sizes.keys()) if (this.#isOver(shelf, 0, 0)) this.#remove(memoryId, shelf, key);
    }
  }

  #meeting(memoryId: string, shelf: Shelf, conditions: Conditions, now: number): Entry[] {
    const { keys } = conditions;
    if (keys.size === 0 || keys.size > shelf.sizes.size)
      return this.#living(memoryId, shelf, now).filter((entry) => meets(entry, conditions));
    // Reads only the given keys instead of all entries.
    return Array.from(keys).flatMap((key) => {
      const entry = this.#read(memoryId, key);
      return entry !== undefined && expiresAt(entry) > now && meets(entry, conditions) ? entry : [];
    });
  }

  #put(memoryId: string, shelf: Shelf, draft: Draft, now: number): WriteOutcome {
    const known = this.#read(memoryId, draft.key);
    const before = known !== undefined && expiresAt(known) > now ? known : undefined;
    const { size } = draft;
    const refusal = versionConflict(draft.ifVersion, before?.version ?? 0);
    if (refusal !== undefined) return { refusal };
    if (!this.#makeRoom(memoryId, shelf, draft.key, size, now)) return { refusal: memoryFull(this.#limits, "working") };
    const { key, content, tags, source, score, ttl, eventAt } = draft;
    const createdAt = before?.createdAt ?? now;
    const version = this.#tick();
    const times = { createdAt, updatedAt: now, eventAt };
    const entry: WorkingEntry = { key, content, tags, source, score, ttl, ...times, version, size };
    this.#state.set(`${entryPrefix}${memoryId}/${key}`, entry as unknown as JsonObject);
    shelf.bytes += size - (shelf.sizes.get(key) ?? 0);
    shelf.sizes.set(key, size);
    shelf.expiresAt = Math.min(shelf.expiresAt, expiresAt(entry));
    return { entry };
  }

  #makeRoom(memoryId: string, shelf: Shelf, key: string, size: number, now: number): boolean {
    const { maxBytes, onFull } = this.#limits;
    // Computed each time: the entry of this key may be among the expired ones that were removed.
    const isFull = () => {
      const oldSize = shelf.sizes.get(key);
      return this.#isOver(shelf, oldSize === undefined ? 1 : 0, size - (oldSize ?? 0));
    };
    if (!isFull()) return true;
    if (size > maxBytes) return false;
    if (shelf.expiresAt <= now) this.#living(memoryId, shelf, now);
    for (const victim of shelf.sizes.keys()) {
      if (!isFull()) return true;
      if (onFull === "refuse") return false;
      if (victim !== key) this.#remove(memoryId, shelf, victim);
    }
    return !isFull();
  }

  #isOver({ sizes, bytes }: Shelf, moreEntries: number, moreBytes: number): boolean {
    const { maxEntries, maxBytes } = this.#limits;
    return sizes.size + moreEntries > maxEntries || bytes + moreBytes > maxBytes;
  }

  /** Returns all entries that have not expired and removes those that have. */
  #living(memoryId: string, shelf: Shelf, now: number): Entry[] {
    const living: Entry[] = [];
    let firstExpiry = Number.POSITIVE_INFINITY;
    for (const key of shelf.sizes.keys()) {
      const entry = this.#read(memoryId, key);
      const expiry = entry === undefined ? 0 : expiresAt(entry);
      if (entry === undefined || expiry <= now) this.#remove(memoryId, shelf, key);
      else {
        living.push(entry);
        if (expiry < firstExpiry) firstExpiry = expiry;
      }
    }
    shelf.expiresAt = firstExpiry;
    return living;
  }

  #read(memoryId: string, key: string): Entry | undefined {
    return this.#state.get(`${entryPrefix}${memoryId}/${key}`) as unknown as Entry | undefined;
  }

  #remove(memoryId: string, shelf: Shelf, key: string): void {
    shelf.bytes -= shelf.sizes.get(key) ?? 0;
    shelf.sizes.delete(key);
    this.#state.delete(`${entryPrefix}${memoryId}/${key}`);
    this.#state.delete(`${usePrefix}${memoryId}/${key}`);
    this.#tick();
  }

  /** Counts every change, so that versions only grow and the order of use is part of the state. */
  #tick(): number {
    const clock = this.#clock() + 1;
    this.#state.set(clockKey, clock);
    this.#shelvedAt = clock;
    return clock;
  }

  #clock(): number {
    return clockOf(this.#state);
  }

  #shelf(memoryId: string): Shelf {
    const shelves = this.#known();
    const known = shelves.get(memoryId);
    if (known !== undefined) return known;
    const shelf = toShelf([]);
    shelves.set(memoryId, shelf);
    return shelf;
  }

  #known(): Map<string, Shelf> {
    const clock = this.#clock();
    if (clock !== this.#shelvedAt) {
      this.#shelves = readShelves(this.#state);
      this.#shelvedAt = clock;
    }
    return this.#shelves;
  }
}

function clockOf(state: SessionState): number {
  return (state.get(clockKey) as number | undefined) ?? 0;
}

function readShelves(state: SessionState): Map<string, Shelf> {
  const found = new Map<string, { entry: WorkingEntry; usedAt: number }[]>();
  for (const [name, value] of state.entries()) {
    if (!name.startsWith(entryPrefix)) continue;
    const memoryId = name.slice(entryPrefix.length, name.indexOf("/", entryPrefix.length));
    const entry = value as unknown as WorkingEntry;
    const usedAt = (state.get(`${usePrefix}${memoryId}/${entry.key}`) as number | undefined) ?? 0;
    const entries = found.get(memoryId) ?? [];
    found.set(memoryId, entries);
    entries.push({ entry, usedAt: Math.max(usedAt, entry.version) });
  }
  return new Map(
    Array.from(found, ([memoryId, entries]) => {
      const inOrder = entries.sort((first, second) => first.usedAt - second.usedAt).map(({ entry }) => entry);
      return [memoryId, toShelf(inOrder)];
    }),
  );
}

function toShelf(entries: readonly WorkingEntry[]): Shelf {
  return {
    sizes: new Recency(new Map(entries.map(({ key, size }) => [key, size]))),
    bytes: entries.reduce((sum, { size }) => sum + size, 0),
    expiresAt: entries.reduce((first, entry) => Math.min(first, expiresAt(entry)), Number.POSITIVE_INFINITY),
  };
}
