// Reads and writes the rows of a space with their tags, words, vectors and counters. Limits and versions are enforced
// by its callers.
import type { Database } from "../../../plugin/ports/database.ts";
import type { Draft } from "../entry.ts";
import type { Space } from "./memory-store.ts";
import {
  type EntryRow,
  entryColumns,
  insertEntry,
  rowColumns,
  type StoredRow,
  toTombstone,
  updateEntry,
  valuesOf,
} from "./sqlite-schema.ts";
import { Statements } from "./statements.ts";
import { TextIndex, type Tokenizer } from "./text-index.ts";

/** A row of `memory_space`; `save` writes its counters. */
export interface SpaceRow {
  readonly id: number;
  readonly tier: Space["tier"];
  readonly overlay: string;
  entries: number;
  bytes: number;
  version: number;
}

const spaceColumns = "id, tier, overlay, entries, bytes, version";

export class SpaceTables {
  readonly statements: Statements;
  readonly #tokenizer: Tokenizer;
  readonly #indexes = new Map<number, TextIndex>();

  constructor(database: Database, tokenizer: Tokenizer = "unicode61") {
    this.statements = new Statements(database);
    this.#tokenizer = tokenizer;
  }

  find({ tier, owner, namespace, scope }: Space, overlay: string): SpaceRow | undefined {
    const row = this.statements
      .get(
        `SELECT ${spaceColumns} FROM memory_space WHERE tier = ? AND owner = ? AND namespace = ? AND scope = ? AND overlay = ?`,
      )
      .get(tier, owner, namespace, scope, overlay);
    return row as unknown as SpaceRow | undefined;
  }

  findById(id: number): SpaceRow | undefined {
    const row = this.statements.get(`SELECT ${spaceColumns} FROM memory_space WHERE id = ?`).get(id);
    return row as unknown as SpaceRow | undefined;
  }

  /** The number of spaces that this agent has created. */
  countOf(agent: string): number {
    return this.statements.get("SELECT count(*) AS count FROM memory_space WHERE agent = ?").get(agent)
      ?.count as number;
  }

  create({ tier, owner, namespace, scope }: Space, overlay: string, agent: string): SpaceRow {
    const { lastInsertRowid } = this.statements
      .get("INSERT INTO memory_space (tier, owner, namespace, scope, overlay, agent) VALUES (?, ?, ?, ?, ?, ?)")
      .run(tier, owner, namespace, scope, overlay, agent);
    const id = Number(lastInsertRowid);
    // An overlay is small and short-lived, so it is ranked without an index.
    if (overlay === "") this.indexOf(id).create(this.#tokenizer);
    return { id, tier, overlay, entries: 0, bytes: 0, version: 0 };
  }

  save({ id, entries, bytes, version }: SpaceRow): void {
    this.statements
      .get("UPDATE memory_space SET entries = ?, bytes = ?, version = ? WHERE id = ?")
      .run(entries, bytes, version, id);
  }

  indexOf(space: number): TextIndex {
    const known = this.#indexes.get(space);
    if (known !== undefined) return known;
    if (this.#indexes.size >= 4096) this.#indexes.clear();
    const index = new TextIndex(this.statements, space);
    this.#indexes.set(space, index);
    return index;
  }

  rowOf(space: number, key: string): StoredRow | undefined {
    const row = this.statements
      .get(`SELECT ${entryColumns} FROM memory_entry e WHERE e.space = ? AND e.key = ?`)
      .get(space, key);
    return row as unknown as StoredRow | undefined;
  }

  /** Returns the row of the uppermost space that has the key, even if it is a tombstone. */
  topmost(spaces: readonly SpaceRow[], key: string): StoredRow | undefined {
    for (let index = spaces.length - 1; index >= 0; index--) {
      const row = this.rowOf((spaces[index] as SpaceRow).id, key);
      if (row !== undefined) return row;
    }
    return undefined;
  }

  /** Returns the id of the new row, or undefined if the key exists. */
  insert(space: SpaceRow, row: EntryRow, text: string, tags: readonly string[]): number | undefined {
    const { changes, lastInsertRowid } = this.statements.get(insertEntry).run(space.id, ...valuesOf(row));
    if (Number(changes) === 0) return undefined;
    const id = Number(lastInsertRowid);
    this.#attach(space, id, row.size, text, tags);
    return id;
  }

  /**
   * Like `insert`, for an entry that is written for the first time. Avoids creating a row object, since most entries
   * are new.
   */
  insertNew(space: SpaceRow, draft: Draft, version: number, now: number): number | undefined {
    const { key, json, size, tags, source, score, ttl, eventAt } = draft;
    const tagsJson = tags.length === 0 ? "[]" : JSON.stringify(tags);
    const sourceJson = source === "" ? '""' : JSON.stringify(source);
    const expiry = ttl === 0 ? null : now + ttl;
    const { changes, lastInsertRowid } = this.statements
      .get(insertEntry)
      .run(space.id, key, json, tagsJson, sourceJson, score, ttl, now, now, eventAt, expiry, version, size, 0, 0);
    if (Number(changes) === 0) return undefined;
    const id = Number(lastInsertRowid);
    this.#attach(space, id, size, draft.text, tags);
    return id;
  }

  update(space: SpaceRow, before: StoredRow, row: EntryRow, text: string, tags: readonly string[]): void {
    this.#detach(space, before);
    this.statements.get(updateEntry).run(...valuesOf(row), before.id);
    if (row.is_deleted === 0) this.#attach(space, before.id, row.size, text, tags);
  }

  remove(space: SpaceRow, row: StoredRow): void {
    this.#detach(space, row);
    this.statements.get("DELETE FROM memory_entry WHERE id = ?").run(row.id);
  }

  /** An expired entry with a different key that was not collected yet. */
  expired(space: SpaceRow, exceptKey: string, now: number): StoredRow | undefined {
    const row = this.statements
      .get(`SELECT ${rowColumns} FROM memory_entry e WHERE e.space = ? AND e.expires_at <= ? AND e.key <> ? LIMIT 1`)
      .get(space.id, now, exceptKey);
    return row as unknown as StoredRow | undefined;
  }

  /** The entry with the earliest event_at and a different key. */
  oldest(space: SpaceRow, exceptKey: string): StoredRow | undefined {
    const row = this.statements
      .get(
        `SELECT ${rowColumns} FROM memory_entry e WHERE e.space = ? AND e.is_deleted = 0 AND e.key <> ? ORDER BY e.event_at, e.version LIMIT 1`,
      )
      .get(space.id, exceptKey);
    return row as unknown as StoredRow | undefined;
  }

  /** Deletes an entry. In an overlay it leaves a tombstone, so that the entry below stays hidden. */
  drop(space: SpaceRow, row: StoredRow, now: number): void {
    if (row.base_version === 0) this.remove(space, row);
    else this.bury(space, row, row.base_version, now);
  }

  /** Deletes all entries of a space that is not an overlay. */
  clear(space: SpaceRow): void {
    const run = (sql: string) => this.statements.get(sql).run(space.id);
    run("DELETE FROM memory_vector WHERE entry IN (SELECT id FROM memory_entry WHERE space = ?)");
    run("DELETE FROM memory_tag WHERE space = ?");
    run("DELETE FROM memory_entry WHERE space = ?");
    this.indexOf(space.id).clear();
    space.entries = 0;
    space.bytes = 0;
  }

  /** Deletes spaces with all of their entries; the condition is on `memory_space`. */
  removeSpaces(condition: string, value: string): void {
    const spaces = `SELECT id FROM memory_space WHERE ${condition}`;
    for (const { id } of this.statements.get(`${spaces} AND overlay = ''`).all(value)) {
      this.indexOf(id as number).drop();
      this.#indexes.delete(id as number);
    }
    const run = (sql: string) => this.statements.get(sql).run(value);
    run(`DELETE FROM memory_vector WHERE entry IN (SELECT id FROM memory_entry WHERE space IN (${spaces}))`);
    run(`DELETE FROM memory_tag WHERE space IN (${spaces})`);
    run(`DELETE FROM memory_entry WHERE space IN (${spaces})`);
    run(`DELETE FROM memory_space WHERE ${condition}`);
  }

  /** Writes a tombstone to an overlay, which hides the key in the spaces below. */
  bury(space: SpaceRow, row: Pick<EntryRow, "key" | "event_at">, baseVersion: number, now: number): void {
    space.version += 1;
    const tombstone = toTombstone(row, space.version, baseVersion, now);
    const before = this.rowOf(space.id, row.key);
    if (before === undefined) this.statements.get(insertEntry).run(space.id, ...valuesOf(tombstone));
    else this.update(space, before, { ...tombstone, base_version: before.base_version }, "", []);
  }

  setVector(id: number, model: string, vector: Float32Array): void {
    this.statements
      .get("INSERT OR REPLACE INTO memory_vector (entry, model, vector) VALUES (?, ?, ?)")
      .run(id, model, new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength));
  }

  #attach(space: SpaceRow, id: number, size: number, text: string, tags: readonly string[]): void {
    space.entries += 1;
    space.bytes += size;
    if (space.overlay === "") this.indexOf(space.id).add(id, text);
    if (tags.length === 0) return;
    for (const tag of new Set(tags)) {
      this.statements
        .get("INSERT INTO memory_tag (space, tag, entry) VALUES (?, ?, ?)")
        .run(space.id, JSON.stringify(tag), id);
    }
  }

  #detach(space: SpaceRow, row: StoredRow): void {
    if (row.is_deleted === 1) return;
    space.entries -= 1;
    space.bytes -= row.size;
    if (space.overlay === "") this.indexOf(space.id).remove(row.id);
    if (row.tags !== "[]") {
      for (const tag of new Set(JSON.parse(row.tags) as string[])) {
        this.statements
          .get("DELETE FROM memory_tag WHERE space = ? AND tag = ? AND entry = ?")
          .run(space.id, JSON.stringify(tag), row.id);
      }
    }
    this.statements.get("DELETE FROM memory_vector WHERE entry = ?").run(row.id);
  }
}
