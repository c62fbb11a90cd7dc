// Reads the files of a log for verification: each must have exactly the bytes that the entries demand.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { hashBytes } from "../proofs/merkle.ts";
import { parseBundle, type TileFolder, type TileKind, tilePath } from "./tiles.ts";
import { leafOf, type Tile, tileWidth } from "./tree.ts";

export interface Damage {
  /** The first damaged entry; absent if the damage cannot be attributed to one. */
  readonly index?: number;
  /** When the last undamaged entry before it was written, in milliseconds since 1970. */
  readonly time?: number;
  readonly what: string;
}

export class DamageFound extends Error {
  readonly damage: Damage;

  constructor(damage: Damage) {
    super(damage.what);
    this.damage = damage;
  }
}

export class VerifiedTiles {
  readonly #folder: TileFolder;

  constructor(folder: TileFolder) {
    this.#folder = folder;
  }

  /** The leaves of a bundle. Of a pruned bundle only the hashes are left. */
  *readLeaves(index: number, width: number, isPruned: boolean): Generator<{ leaf: Uint8Array; entry?: Uint8Array }> {
    const first = index * tileWidth;
    const name = tilePath(0, index, width);
    const tile = this.#read(0, index, width, first);
    if (tile.length !== width * hashBytes)
      throw new DamageFound({ index: first, what: `${name} has the wrong length` });
    const hashAt = (at: number) => tile.subarray(at * hashBytes, (at + 1) * hashBytes);
    if (isPruned) {
      for (let at = 0; at < width; at++) yield { leaf: hashAt(at) };
      return;
    }
    const entriesName = tilePath("entries", index, width);
    const { entries, isWhole } = parseBundle(this.#read("entries", index, width, first));
    for (let at = 0; at < width; at++) {
      const entry = entries[at];
      if (entry === undefined)
        throw new DamageFound({ index: first + at, what: `${entriesName} ends before entry ${first + at}` });
      const leaf = leafOf(entry);
      if (!hashAt(at).equals(leaf))
        throw new DamageFound({
          index: first + at,
          what: `entry ${first + at} in ${entriesName} does not match its hash in ${name}`,
        });
      yield { leaf, entry };
    }
    if (!isWhole || entries.length > width)
      throw new DamageFound({ index: first + width, what: `${entriesName} has bytes behind its last entry` });
    this.#checkPartials("entries", index, width);
    this.#checkPartials(0, index, width);
  }

  /** Compares the tiles above the hashes of entries with those that follow from the entries. */
  checkAbove(tiles: readonly Tile[]): void {
    for (const { level, index, width, hashes } of tiles) {
      if (level === 0) continue;
      const first = index * tileWidth ** (level + 1);
      if (!this.#read(level, index, width, first).equals(hashes))
        throw new DamageFound({
          index: first,
          what: `${tilePath(level, index, width)} does not match the tiles below it`,
        });
      this.#checkPartials(level, index, width);
    }
  }

  /** Tiles of earlier checkpoints must be the beginning of the current one. */
  #checkPartials(kind: TileKind, index: number, width: number): void {
    const first = index * tileWidth ** (kind === "entries" ? 1 : kind + 1);
    for (const partial of this.#folder.partialsOf(kind, index)) {
      if (partial >= width) continue;
      const older = this.#read(kind, index, partial, first);
      if (!this.#read(kind, index, width, first).subarray(0, older.length).equals(older))
        throw new DamageFound({
          index: first,
          what: `${tilePath(kind, index, partial)} is not the beginning of the newer tile`,
        });
    }
  }

  #read(kind: TileKind, index: number, width: number, first: number): Buffer {
    const name = tilePath(kind, index, width);
    try {
      return readFileSync(join(this.#folder.path, name));
    } catch (error) {
      throw new DamageFound({ index: first, what: `${name} cannot be read: ${(error as Error).message}` });
    }
  }
}
