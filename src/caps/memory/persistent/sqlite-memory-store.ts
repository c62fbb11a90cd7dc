// The persistent tiers in the host's database: storing, deleting, limits and collection.
import type { Database } from "../../../plugin/ports/database.ts";
import { type Conditions, type Draft, memoryFull, type Refusal, versionConflict, type WriteOutcome } from "../entry.ts";
import { memoryLimits } from "../limits.ts";
import type { TextRanker } from "../text.ts";
import type { MemoryStore, Space, View } from "./memory-store.ts";
import { type PersistentLimits, SpaceRoom } from "./room.ts";
import { type SpaceRow, SpaceTables } from "./space-tables.ts";
import { toSqlFilter } from "./sqlite-filter.ts";
import { isVisible, migrateMemory, rowColumns, type StoredRow, toRow } from "./sqlite-schema.ts";
import { type Fusion, SqliteSearch } from "./sqlite-search.ts";
import type { Tokenizer } from "./text-index.ts";

export interface SqliteMemoryStoreOptions {
  readonly database: Database;
  readonly limits: PersistentLimits;
  readonly maxSpacesPerAgent: number;
  readonly tokenizer: Tokenizer;
  readonly ranker: TextRanker;
  /** How vectors are combined with words; undefined if the host has no embedder. */
  readonly fusion: Fusion | undefined;
}

export function createSqliteMemoryStore(options: SqliteMemoryStoreOptions): MemoryStore {
  migrateMemory(options.database);
  return new SqliteMemoryStore(options);
}

class SqliteMemoryStore implements MemoryStore {
  readonly #options: SqliteMemoryStoreOptions;
  readonly #tables: SpaceTables;
  readonly #room: SpaceRoom;
  readonly #search: SqliteSearch;

  constructor(options: SqliteMemoryStoreOptions) {
    this.#options = options;
    this.#tables = new SpaceTables(options.database, options.tokenizer);
    this.#room = new SpaceRoom(this.#tables, options.limits);
    this.#search = new SqliteSearch(this.#tables, options.ranker, options.fusion);
  }

  find: MemoryStore["find"] = (view, search, now) => this.#search.find(this.#layers(view), search, now);

  store(view: View, drafts: readonly Draft[], agent: string, now: number): WriteOutcome[] {
    const overlay = view.overlays.at(-1) ?? "";
    return this.#options.database.write(() => {
      this.collect(now);
      const space = this.#tables.find(view.space, overlay) ?? this.#begin(view.space, overlay, agent);
      if ("refusal" in space) return drafts.map(() => space);
      const below = this.#layers(view).filter(({ id }) => id !== space.id);
      const outcomes = drafts.map((draft) => this.#put(space, below, draft, now));
      this.#tables.save(space);
      return outcomes;
    });
  }

  #begin(space: Space, overlay: string, agent: string): SpaceRow | { refusal: Refusal } {
    // A fork writes above a space, which must exist. The space counts for its agent; the overlay is deleted with the
    // fork.
    if (overlay !== "") {
      const ground = this.#tables.find(space, "") ?? this.#begin(space, "", agent);
      return "refusal" in ground ? ground : this.#tables.create(space, overlay, "");
    }
    const { maxSpacesPerAgent } = this.#options;
    if (this.#tables.countOf(agent) < maxSpacesPerAgent) return this.#tables.create(space, overlay, agent);
    return { refusal: { code: "memory_full", message: `an agent may create at most ${maxSpacesPerAgent} memories` } };
  }

  #put(space: SpaceRow, below: readonly SpaceRow[], draft: Draft, now: number): WriteOutcome {
    const { ifVersion } = draft;
    // Most entries are new and fit, so the insert is tried before the key is looked up.
    if (below.length === 0 && (ifVersion ?? 0) === 0 && this.#room.has(space, draft.size, 1)) {
      const id = this.#tables.insertNew(space, draft, space.version + 1, now);
      if (id !== undefined) return this.#written(space, id, draft, space.version + 1, now, now);
    }
    const own = this.#tables.rowOf(space.id, draft.key);
    const under = below.length === 0 ? undefined : this.#tables.topmost(below, draft.key);
    const visible = [own ?? under].find((row) => isVisible(row, now));
    const refusal = versionConflict(ifVersion, visible?.version ?? 0);
    if (refusal !== undefined) return { refusal };
    if (!this.#room.make(space, draft.key, draft.size, own, now))
      return { refusal: memoryFull(this.#room.limitsOf(space), space.tier) };
    const baseVersion = own?.base_version ?? (isVisible(under, now) ? under.version : 0);
    const createdAt = visible?.created_at ?? now;
    // A fork must not reuse a version that was visible below it, even of an entry that was deleted.
    const version = Math.max(space.version, ...below.map((layer) => layer.version)) + 1;
    const row = toRow(draft, version, createdAt, baseVersion, now);
    // Making room may have deleted the row itself.
    const before = own === undefined ? undefined : this.#tables.rowOf(space.id, draft.key);
    if (before === undefined) {
      const id = this.#tables.insert(space, row, draft.text, draft.tags) as number;
      return this.#written(space, id, draft, version, createdAt, now);
    }
    this.#tables.update(space, before, row, draft.text, draft.tags);
    return this.#written(space, before.id, draft, version, createdAt, now);
  }

  #written(space: SpaceRow, id: number, draft: Draft, version: number, createdAt: number, now: number): WriteOutcome {
    space.version = version;
    const { fusion } = this.#options;
    if (draft.vector !== undefined && fusion !== undefined) this.#tables.setVector(id, fusion.model, draft.vector);
    const { key, content, tags, source, score, ttl, eventAt } = draft;
    return { entry: { key, content, tags, source, score, ttl, createdAt, updatedAt: now, eventAt, version } };
  }

  forget(view: View, conditions: Conditions, now: number): number {
    const overlay = view.overlays.at(-1) ?? "";
    return this.#options.database.write(() => {
      const layers = this.#layers(view);
      const [ground] = layers;
      if (overlay === "" && ground !== undefined && isUnconditional(conditions)) return this.#clear(ground, now);
      const rows = layers.map((layer, index) => this.#matching(layer, layers.slice(index + 1), conditions, now));
      const deleted = rows.reduce((count, { length }) => count + length, 0);
      if (deleted === 0) return 0;
      if (overlay === "") this.#removeAll(ground as SpaceRow, rows[0] as StoredRow[]);
      else this.#buryAll(view.space, overlay, layers, rows, now);
      return deleted;
    });
  }

  /** In one go: deleting a large memory entry by entry would block all other sessions. */
  #clear(space: SpaceRow, now: number): number {
    const { expired } = this.#tables.statements
      .get("SELECT count(*) AS expired FROM memory_entry WHERE space = ? AND expires_at <= ?")
      .get(space.id, now) as { expired: number };
    const deleted = space.entries - expired;
    this.#tables.clear(space);
    this.#tables.save(space);
    return deleted;
  }

  #matching(layer: SpaceRow, above: readonly SpaceRow[], conditions: Conditions, now: number): StoredRow[] {
    const filter = toSqlFilter(
      conditions,
      layer.id,
      above.map(({ id }) => id),
      now,
    );
    const rows = this.#tables.statements
      .get(`SELECT ${rowColumns} FROM memory_entry e WHERE e.space = ? AND e.is_deleted = 0 ${filter.sql}`)
      .all(layer.id, ...filter.values);
    return rows as unknown as StoredRow[];
  }

  #removeAll(space: SpaceRow, rows: readonly StoredRow[]): void {
    for (const row of rows) this.#tables.remove(space, row);
    this.#tables.save(space);
  }

  /** A fork deletes nothing below its overlay: it hides the entries. */
  #buryAll(
    space: Space,
    overlay: string,
    layers: readonly SpaceRow[],
    rows: readonly StoredRow[][],
    now: number,
  ): void {
    const top = this.#tables.find(space, overlay) ?? this.#tables.create(space, overlay, "");
    layers.forEach((layer, index) => {
      for (const row of rows[index] ?? []) {
        const baseVersion = layer.id === top.id ? row.base_version : row.version;
        this.#tables.bury(top, row, baseVersion, now);
      }
    });
    this.#tables.save(top);
  }

  collect(now: number): boolean {
    const { maxCollected } = memoryLimits;
    const expired = this.#tables.statements.get(
      `SELECT e.space, ${rowColumns} FROM memory_entry e WHERE e.expires_at <= ? ORDER BY e.expires_at LIMIT ?`,
    );
    const rows = expired.all(now, maxCollected) as unknown as (StoredRow & { space: number })[];
    if (rows.length === 0) return false;
    this.#options.database.write(() => {
      for (const id of new Set(rows.map(({ space }) => space))) {
        const space = this.#tables.findById(id) as SpaceRow;
        for (const row of rows) {
          if (row.space === id) this.#tables.drop(space, row, now);
        }
        this.#tables.save(space);
      }
    });
    return rows.length === maxCollected;
  }

  /** The spaces of a view, lowest first. A space without a write does not exist yet. */
  #layers({ space, overlays }: View): SpaceRow[] {
    return ["", ...overlays].flatMap((overlay) => this.#tables.find(space, overlay) ?? []);
  }
}

function isUnconditional({ keys, tags, since, until }: Conditions): boolean {
  return keys.size === 0 && tags.size === 0 && since === undefined && until === undefined;
}
