// Decides which entries of an audit log are deleted. The log announces each deletion in an entry, which is signed before
// the first file is deleted: otherwise any deletion of files could be passed off as pruning.
import { readBlockTime } from "./audit-block.ts";
import type { TileFolder } from "./tiles.ts";
import { tileWidth } from "./tree.ts";

export interface Retention {
  /** How many of the newest entries are kept. */
  entries?: number;
  days?: number;
}

const msPerDay = 24 * 60 * 60 * 1000;

export class Pruning {
  readonly #folder: TileFolder;
  readonly #retention: Retention;
  /** The minimum that the log announces, and the size that a checkpoint must have to include the announcement. */
  #announced: { minimum: number; size: number } | undefined;
  /** How many full bundles the log had at the last check. */
  #checked = -1;

  constructor(folder: TileFolder, retention: Retention) {
    this.#folder = folder;
    this.#retention = retention;
  }

  /** Called after each checkpoint: the minimum to announce, and the announced minimum that the checkpoint has signed. */
  check(size: number, now: number): { announce?: number; prune?: number } {
    const announced = this.#announced;
    if (announced !== undefined) {
      if (size < announced.size) return {};
      this.#announced = undefined;
      return { prune: announced.minimum };
    }
    const bundles = Math.floor(size / tileWidth);
    if (bundles === this.#checked) return {};
    this.#checked = bundles;
    const minimum = this.#findMinimum(bundles, size, now);
    if (minimum <= this.#folder.readMinimum()) return {};
    // Not before `announced` is called.
    this.#announced = { minimum, size: Number.POSITIVE_INFINITY };
    return { announce: minimum };
  }

  /** The announcement is in the log, which has this size now; undefined if its turn was lost. */
  announced(size: number | undefined): void {
    if (size !== undefined && this.#announced !== undefined) this.#announced = { ...this.#announced, size };
    else this.#announced = undefined;
  }

  /** Whole bundles only. */
  #findMinimum(bundles: number, size: number, now: number): number {
    const { entries = Number.POSITIVE_INFINITY, days = Number.POSITIVE_INFINITY } = this.#retention;
    const current = this.#folder.readMinimum();
    let minimum = Math.max(current, Math.floor(Math.max(0, size - entries) / tileWidth) * tileWidth);
    if (days === Number.POSITIVE_INFINITY) return minimum;
    while (minimum / tileWidth < bundles) {
      const last = this.#folder.readBundle(minimum / tileWidth, tileWidth).at(-1);
      const time = last === undefined ? undefined : readBlockTime(last);
      if (time === undefined || time >= now - days * msPerDay) break;
      minimum += tileWidth;
    }
    return minimum;
  }
}
