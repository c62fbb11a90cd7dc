// Overlays hold the entries that forks write in the persistent tiers. Only the fork and its own forks see them, until
// they are merged or collected. Agents without an id use them as well: no later session can reach their entries either.
import type { Database } from "../../../plugin/ports/database.ts";
import { keyToWire } from "../key.ts";
import { mergeOverlay } from "./merge-overlay.ts";
import type { PersistentLimits } from "./room.ts";
import { SpaceTables } from "./space-tables.ts";

export class Overlays {
  readonly #database: Database;
  readonly #limits: PersistentLimits | undefined;
  readonly #tables: SpaceTables;
  /** The number of open sessions that use each overlay. */
  readonly #open = new Map<string, number>();

  /** `limits` apply to merged entries. */
  constructor(database: Database, limits?: PersistentLimits) {
    this.#database = database;
    this.#limits = limits;
    this.#tables = new SpaceTables(database);
  }

  /** Creates an overlay above another, or above the shared entries if `parent` is empty. */
  begin(id: string, parent: string, now: number): void {
    this.#write("INSERT INTO memory_overlay (id, parent, used_at) VALUES (?, ?, ?)", id, parent, now);
  }

  /** Called when a session opens that uses these overlays, each above the one before. */
  enter(ids: readonly string[], now: number): void {
    ids.forEach((id, index) => {
      this.#open.set(id, (this.#open.get(id) ?? 0) + 1);
      // A session that was closed for too long finds its overlays empty instead of missing.
      const parent = ids[index - 1] ?? "";
      this.#write("INSERT OR IGNORE INTO memory_overlay (id, parent, used_at) VALUES (?, ?, ?)", id, parent, now);
    });
  }

  leave(ids: readonly string[], now: number): void {
    for (const id of ids) {
      const count = (this.#open.get(id) ?? 1) - 1;
      if (count > 0) this.#open.set(id, count);
      else this.#open.delete(id);
      // Not deleted at once: the closed session may be resumed.
      this.#write("UPDATE memory_overlay SET used_at = ? WHERE id = ?", now, id);
    }
  }

  /** Merges the entries of a fork into its parent and returns those that were left because both had changed them. */
  merge(id: string, now: number): { merged: number; conflicts: string[] } {
    const limits = this.#limits;
    const { merged, conflicts } = mergeOverlay(this.#database, id, {
      now,
      ...(limits === undefined ? {} : { limits }),
    });
    const texts = conflicts.map(({ tier, namespace, key, is_full }) => {
      return `${tier}/${namespace}/${keyToWire(key).key_text}${is_full ? ": memory_full" : ""}`;
    });
    return { merged, conflicts: texts };
  }

  /** Deletes the overlays that no session has used for `idleS` seconds. */
  collect(now: number, idleS: number): void {
    const open = JSON.stringify([...this.#open.keys()]);
    this.#write("UPDATE memory_overlay SET used_at = ? WHERE id IN (SELECT value FROM json_each(?))", now, open);
    const idle = this.#tables.statements.get("SELECT id FROM memory_overlay WHERE used_at < ?").all(now - idleS);
    for (const { id } of idle) this.#drop(id as string);
  }

  #drop(id: string): void {
    this.#database.write(() => {
      this.#tables.removeSpaces("overlay = ?", id);
      this.#tables.removeSpaces("owner = ?", id);
      this.#write("DELETE FROM memory_overlay WHERE id = ?", id);
    });
  }

  #write(sql: string, ...values: (string | number)[]): void {
    this.#database.write(() => this.#tables.statements.get(sql).run(...values));
  }
}
