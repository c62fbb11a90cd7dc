// What forks write in the persistent tiers: in overlays that only they and their own forks see, until somebody merges
// them or their sessions are gone.
import type { Database } from "../../host/database.ts";
import type { JsonObject, JsonValue } from "../../protocol/json.ts";
import { type Key, keyToWire } from "./key.ts";
import type { Space } from "./memory-store.ts";
import { type SpaceRow, SpaceTables } from "./space-tables.ts";
import { entryColumns, isVisible, type StoredRow } from "./sqlite-schema.ts";
import { toSearchText } from "./text.ts";

export class Overlays {
  readonly #database: Database;
  readonly #tables: SpaceTables;
  /** How many open sessions see each. */
  readonly #open = new Map<string, number>();

  constructor(database: Database) {
    this.#database = database;
    this.#tables = new SpaceTables(database);
  }

  /** An overlay above another, or above what is there for all. */
  begin(id: string, parent: string, now: number): void {
    this.#write("INSERT INTO memory_overlay (id, parent, used_at) VALUES (?, ?, ?)", id, parent, now);
  }

  /** A session opens that sees these, each above the one before. */
  enter(ids: readonly string[], now: number): void {
    ids.forEach((id, index) => {
      this.#open.set(id, (this.#open.get(id) ?? 0) + 1);
      // One that was away for too long finds its overlays empty, not gone.
      const parent = ids[index - 1] ?? "";
      this.#write("INSERT OR IGNORE INTO memory_overlay (id, parent, used_at) VALUES (?, ?, ?)", id, parent, now);
    });
  }

  leave(ids: readonly string[], now: number): void {
    for (const id of ids) {
      const count = (this.#open.get(id) ?? 1) - 1;
      if (count > 0) this.#open.set(id, count);
      else this.#open.delete(id);
      // Not dropped at once: a session that is closed may come back.
      this.#write("UPDATE memory_overlay SET used_at = ? WHERE id = ?", now, id);
    }
  }

  /** Brings what a fork wrote into its parent; says what stayed because both had changed it. */
  merge(id: string, now: number): { merged: number; conflicts: string[] } {
    const { merged, conflicts } = mergeOverlay(this.#database, id, { now });
    const texts = conflicts.map(({ tier, namespace, key }) => `${tier}/${namespace}/${keyToWire(key).key_text}`);
    return { merged, conflicts: texts };
  }

  /** Drops what no session has seen for so long. */
  collect(now: number, idleS: number): void {
    for (const id of this.#open.keys()) this.#write("UPDATE memory_overlay SET used_at = ? WHERE id = ?", now, id);
    const idle = this.#tables.statements.get("SELECT id FROM memory_overlay WHERE used_at < ?").all(now - idleS);
    for (const { id } of idle) this.#drop(id as string);
  }

  #drop(id: string): void {
    this.#database.write(() => {
      const spaces = "SELECT id FROM memory_space WHERE overlay = ?";
      const entries = `SELECT id FROM memory_entry WHERE space IN (${spaces})`;
      this.#write(`DELETE FROM memory_vector WHERE entry IN (${entries})`, id);
      this.#write(`DELETE FROM memory_tag WHERE space IN (${spaces})`, id);
      this.#write(`DELETE FROM memory_entry WHERE space IN (${spaces})`, id);
      this.#write("DELETE FROM memory_space WHERE overlay = ?", id);
      this.#write("DELETE FROM memory_overlay WHERE id = ?", id);
    });
  }

  #write(sql: string, ...values: (string | number)[]): void {
    this.#database.write(() => this.#tables.statements.get(sql).run(...values));
  }
}

/** An entry that both a fork and its parent have changed. Version 0 stands for none. */
export interface MergeConflict {
  readonly tier: Space["tier"];
  readonly namespace: string;
  readonly key: JsonObject;
  /** What the fork saw when it first changed the entry. */
  readonly base_version: number;
  /** What the parent has now. */
  readonly parent_version: number;
  readonly fork: "changed" | "deleted";
}

export interface MergeReport {
  readonly merged: number;
  /** Left in the overlay, unless they were to be overwritten. */
  readonly conflicts: MergeConflict[];
}

export interface MergeOptions {
  /** Seconds since 1970. */
  now: number;
  onConflict?: "keep_parent" | "overwrite";
}

/** Brings what a fork wrote into its parent; an entry that both have changed is reported, and kept as the parent has it. */
export function mergeOverlay(database: Database, overlayId: string, options: MergeOptions): MergeReport {
  return database.write(() => new Merge(database, overlayId, options).run());
}

type OverlaySpace = SpaceRow & Space & { readonly agent: string };

class Merge {
  readonly #tables: SpaceTables;
  readonly #overlayId: string;
  readonly #options: MergeOptions;
  readonly #conflicts: MergeConflict[] = [];
  #merged = 0;

  constructor(database: Database, overlayId: string, options: MergeOptions) {
    this.#tables = new SpaceTables(database);
    this.#overlayId = overlayId;
    this.#options = options;
  }

  run(): MergeReport {
    const ancestors = this.#ancestors();
    const spaces = this.#tables.statements
      .get("SELECT * FROM memory_space WHERE overlay = ?")
      .all(this.#overlayId) as unknown as OverlaySpace[];
    for (const space of spaces) this.#mergeSpace(space, ancestors);
    return { merged: this.#merged, conflicts: this.#conflicts };
  }

  /** The overlays below this one, lowest first, beginning with what is there for all. */
  #ancestors(): string[] {
    const parentOf = this.#tables.statements.get("SELECT parent FROM memory_overlay WHERE id = ?");
    const ancestors: string[] = [];
    for (let id = this.#overlayId; id !== ""; ) {
      const row = parentOf.get(id);
      if (row === undefined) throw new Error(`there is no overlay "${id}"`);
      id = row.parent as string;
      ancestors.unshift(id);
    }
    return ancestors;
  }

  #mergeSpace(space: OverlaySpace, ancestors: readonly string[]): void {
    const parentOverlay = ancestors.at(-1) as string;
    const parent = this.#tables.find(space, parentOverlay) ?? this.#tables.create(space, parentOverlay, space.agent);
    // Whoever saw a version in the fork must not find another content under it in the parent.
    parent.version = Math.max(parent.version, space.version);
    const below = ancestors.slice(0, -1).flatMap((overlay) => this.#tables.find(space, overlay) ?? []);
    const rows = this.#tables.statements
      .get(`SELECT ${entryColumns} FROM memory_entry e WHERE e.space = ? ORDER BY e.version`)
      .all(space.id) as unknown as StoredRow[];
    for (const row of rows) this.#mergeRow(space, parent, below, row);
    this.#tables.save(parent);
    this.#tables.save(space);
  }

  #mergeRow(space: OverlaySpace, parent: SpaceRow, below: readonly SpaceRow[], row: StoredRow): void {
    const { now, onConflict = "keep_parent" } = this.#options;
    const current = this.#tables.topmost([...below, parent], row.key);
    const version = isVisible(current, now) ? current.version : 0;
    const isDeleted = !isVisible(row, now);
    const isConflict = version !== row.base_version && !(isDeleted && version === 0);
    if (isConflict) {
      this.#conflicts.push({
        tier: space.tier,
        namespace: JSON.parse(space.namespace) as string,
        key: JSON.parse(row.key) as JsonObject,
        base_version: row.base_version,
        parent_version: version,
        fork: isDeleted ? "deleted" : "changed",
      });
      if (onConflict === "keep_parent") return;
    }
    if (isDeleted) this.#delete(parent, row, version);
    else this.#put(parent, row, version);
    this.#tables.remove(space, row);
    this.#merged += 1;
  }

  #delete(parent: SpaceRow, row: StoredRow, version: number): void {
    const own = this.#tables.rowOf(parent.id, row.key);
    if (parent.overlay !== "") this.#tables.bury(parent, row, version, this.#options.now);
    else if (own !== undefined) this.#tables.remove(parent, own);
  }

  #put(parent: SpaceRow, row: StoredRow, version: number): void {
    const vector = this.#tables.statements.get("SELECT model, vector FROM memory_vector WHERE entry = ?").get(row.id);
    const own = this.#tables.rowOf(parent.id, row.key);
    parent.version += 1;
    const baseVersion = parent.overlay === "" ? 0 : (own?.base_version ?? version);
    const merged = { ...row, version: parent.version, base_version: baseVersion };
    const text = toSearchText(JSON.parse(row.key) as Key, JSON.parse(row.content) as JsonValue);
    const tags = JSON.parse(row.tags) as string[];
    const id = own?.id ?? (this.#tables.insert(parent, merged, text, tags) as number);
    if (own !== undefined) this.#tables.update(parent, own, merged, text, tags);
    if (vector === undefined) return;
    const bytes = (vector.vector as Uint8Array).slice();
    this.#tables.setVector(id, vector.model as string, new Float32Array(bytes.buffer, 0, bytes.byteLength / 4));
  }
}
