// Enforces the limits of a tier on a space.
import type { TierLimits } from "../entry.ts";
import { memoryLimits } from "../limits.ts";
import type { Space } from "./memory-store.ts";
import type { SpaceRow, SpaceTables } from "./space-tables.ts";
import type { StoredRow } from "./sqlite-schema.ts";

export type PersistentLimits = Readonly<Record<Space["tier"], TierLimits>>;

export class SpaceRoom {
  readonly #tables: SpaceTables;
  readonly #limits: PersistentLimits;

  constructor(tables: SpaceTables, limits: PersistentLimits) {
    this.#tables = tables;
    this.#limits = limits;
  }

  /** Overlays have lower limits, since they are searched without an index. */
  limitsOf({ tier, overlay }: SpaceRow): TierLimits {
    const limits = this.#limits[tier];
    if (overlay === "") return limits;
    return {
      maxEntries: Math.min(limits.maxEntries, memoryLimits.maxOverlayEntries),
      maxBytes: Math.min(limits.maxBytes, memoryLimits.maxOverlayBytes),
      onFull: limits.onFull,
    };
  }

  has(space: SpaceRow, moreBytes: number, moreEntries: number): boolean {
    const { maxEntries, maxBytes } = this.limitsOf(space);
    return space.entries + moreEntries <= maxEntries && space.bytes + moreBytes <= maxBytes;
  }

  /**
   * Removes expired entries and then evicts the oldest until an entry of this size fits in place of `own`. Returns
   * false if it does not fit.
   */
  make(space: SpaceRow, key: string, size: number, own: StoredRow | undefined, now: number): boolean {
    const limits = this.limitsOf(space);
    const replaced = own !== undefined && own.is_deleted === 0 ? own : undefined;
    const moreBytes = size - (replaced?.size ?? 0);
    const moreEntries = replaced === undefined ? 1 : 0;
    while (!this.has(space, moreBytes, moreEntries)) {
      const canEvict = limits.onFull === "evict" && size <= limits.maxBytes;
      const gone = this.#tables.expired(space, key, now) ?? (canEvict ? this.#tables.oldest(space, key) : undefined);
      if (gone === undefined) return false;
      this.#tables.drop(space, gone, now);
    }
    return true;
  }
}
