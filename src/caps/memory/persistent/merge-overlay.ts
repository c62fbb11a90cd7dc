// Merges the entries that a fork wrote into its parent.
import type { Database } from "../../../plugin/ports/database.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import type { Key } from "../key.ts";
import { toSearchText } from "../text.ts";
import type { Space } from "./memory-store.ts";
import { type PersistentLimits, SpaceRoom } from "./room.ts";
import { type SpaceRow, SpaceTables } from "./space-tables.ts";
import { entryColumns, isVisible, type StoredRow } from "./sqlite-schema.ts";

/** An entry that both a fork and its parent have changed. Version 0 means that the entry does not exist. */
export interface MergeConflict {
  readonly tier: Space["tier"];
  readonly namespace: string;
  readonly key: JsonObject;
  /** The version that the fork saw when it first changed the entry. */
  readonly base_version: number;
  /** The current version in the parent. */
  readonly parent_version: number;
  readonly fork: "changed" | "deleted";
  /** There is no conflict of versions; the entry does not fit into the limits of the parent. */
  readonly is_full: boolean;
}

export interface MergeReport {
  readonly merged: number;
  /** Conflicting entries stay in the overlay, unless `onConflict` is `overwrite`. */
  readonly conflicts: MergeConflict[];
}

export interface MergeOptions {
  /** Seconds since 1970. */
  now: number;
  onConflict?: "keep_parent" | "overwrite";
  limits?: PersistentLimits;
}

/**
 * Merges the entries that a fork wrote into its parent. An entry that both have changed is reported and stays as in the
 * parent.
 */
export function mergeOverlay(database: Database, overlayId: string, options: MergeOptions): MergeReport {
  return database.write(() => new Merge(database, overlayId, options).run());
}

type OverlaySpace = SpaceRow & Space & { readonly agent: string };

class Merge {
  readonly #tables: SpaceTables;
  readonly #overlayId: string;
  readonly #options: MergeOptions;
  readonly #room: SpaceRoom | undefined;
  readonly #conflicts: MergeConflict[] = [];
  #merged = 0;

  constructor(database: Database, overlayId: string, options: MergeOptions) {
    this.#tables = new SpaceTables(database);
    this.#room = options.limits === undefined ? undefined : new SpaceRoom(this.#tables, options.limits);
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

  /** The overlays below this one, lowest first, starting with the shared space (""). */
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
    // A version that was seen in the fork must not name a different content in the parent.
    parent.version = Math.max(parent.version, space.version);
    const below = ancestors.slice(0, -1).flatMap((overlay) => this.#tables.find(space, overlay) ?? []);
    // Deletions first, so that the room they make is available for other entries.
    const rows = this.#tables.statements
      .get(`SELECT ${entryColumns} FROM memory_entry e WHERE e.space = ? ORDER BY e.is_deleted DESC, e.version`)
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
    const isKept = isConflict && onConflict === "keep_parent";
    const isFull =
      !isDeleted &&
      !isKept &&
      this.#room?.make(parent, row.key, row.size, this.#tables.rowOf(parent.id, row.key), now) === false;
    if (isConflict || isFull) {
      this.#conflicts.push({
        tier: space.tier,
        namespace: JSON.parse(space.namespace) as string,
        key: JSON.parse(row.key) as JsonObject,
        base_version: row.base_version,
        parent_version: version,
        fork: isDeleted ? "deleted" : "changed",
        is_full: !isConflict,
      });
      if (isFull || isKept) return;
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
