// The Merkle tree of RFC 6962 over the blocks of an audit log, built one leaf at a time. The tree keeps its right edge and
// the hashes that are not in tiles yet; older hashes are read from tiles.
import { hash as digest } from "node:crypto";
import { type Hash, hashBytes, hashLeaf, hashNode } from "../proofs/merkle.ts";

/** Hashes in a tile: a tile is a subtree of eight levels. */
export const tileWidth = 256;
const levelsPerTile = 8;

export const sha256: Hash = (bytes) => digest("sha256", bytes, "buffer");

export const leafOf = (entry: Uint8Array): Uint8Array => hashLeaf(sha256, entry);
const nodeOf = (left: Uint8Array, right: Uint8Array): Uint8Array => hashNode(sha256, left, right);

/** A row of hashes of one level, with `width` hashes from `index * 256` on. */
export interface Tile {
  readonly level: number;
  readonly index: number;
  readonly width: number;
  readonly hashes: Uint8Array;
}

/** Reads tiles of a tree. */
export interface TileSource {
  /** At least the first `width` hashes of the tile. Throws if they cannot be read. */
  readTile(level: number, index: number, width: number): Uint8Array;
}

/** How many hashes a tree of this size has at a level of tiles. */
function hashesAt(level: number, size: number): number {
  return Math.floor(size / tileWidth ** level);
}

export class MerkleTree {
  #size = 0;
  /** Roots of the complete subtrees from left to right, with their heights. */
  readonly #edge: { height: number; hash: Uint8Array }[] = [];
  /** By level of tiles: the hashes from the tile `first` on. */
  readonly #rows: { first: number; hashes: Uint8Array[] }[] = [];

  /** A tree that continues where the tiles end. */
  static resume(source: TileSource, size: number): MerkleTree {
    const tree = new MerkleTree();
    tree.#size = size;
    for (let level = 0; hashesAt(level, size) > 0; level++) {
      const count = hashesAt(level, size);
      const first = Math.floor(count / tileWidth);
      const width = count % tileWidth;
      const hashes = width === 0 ? [] : splitHashes(source.readTile(level, first, width), width);
      tree.#rows.push({ first, hashes });
    }
    // The complete subtrees of a size are its binary digits, the largest first.
    let start = 0;
    for (let height = Math.floor(Math.log2(Math.max(size, 1))); height >= 0; height--) {
      const count = 2 ** height;
      if (Math.floor(size / count) % 2 === 0) continue;
      tree.#edge.push({ height, hash: subtreeRoot(source, size, height, start / count) });
      start += count;
    }
    return tree;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds the hash of an entry. */
  append(leaf: Uint8Array): void {
    let [hash, height] = [leaf, 0];
    this.#addToRow(0, hash);
    for (let last = this.#edge.at(-1); last?.height === height; last = this.#edge.at(-1)) {
      this.#edge.pop();
      hash = nodeOf(last.hash, hash);
      height += 1;
      if (height % levelsPerTile === 0) this.#addToRow(height / levelsPerTile, hash);
    }
    this.#edge.push({ height, hash });
    this.#size += 1;
  }

  #addToRow(level: number, hash: Uint8Array): void {
    const row = this.#rows[level];
    if (row === undefined) this.#rows[level] = { first: 0, hashes: [hash] };
    else row.hashes.push(hash);
  }

  root(): Uint8Array {
    let root: Uint8Array | undefined;
    for (const { hash } of this.#edge.toReversed()) root = root === undefined ? hash : nodeOf(hash, root);
    return root ?? sha256(new Uint8Array(0));
  }

  /** The tiles that differ from those of the tree when it had `size` entries. */
  tilesSince(size: number): Tile[] {
    const tiles: Tile[] = [];
    this.#rows.forEach(({ first, hashes }, level) => {
      const count = first * tileWidth + hashes.length;
      const known = hashesAt(level, size);
      if (count === known) return;
      for (let index = Math.floor(known / tileWidth); index * tileWidth < count; index++) {
        const from = (index - first) * tileWidth;
        const row = hashes.slice(from, from + tileWidth);
        tiles.push({ level, index, width: row.length, hashes: Buffer.concat(row) });
      }
    });
    return tiles;
  }

  /** The tiles at the end of each level that are not full. */
  partialTiles(): Tile[] {
    return this.#rows.flatMap(({ first, hashes }, level) => {
      const row = hashes.slice(hashes.length - (hashes.length % tileWidth));
      const index = first + Math.floor(hashes.length / tileWidth);
      return row.length === 0 ? [] : [{ level, index, width: row.length, hashes: Buffer.concat(row) }];
    });
  }

  /** The full tiles of the tree when it had `size` entries are on the disk: releases their memory. */
  release(size: number): void {
    this.#rows.forEach((row, level) => {
      const full = Math.floor(hashesAt(level, size) / tileWidth);
      if (full <= row.first) return;
      row.hashes.splice(0, (full - row.first) * tileWidth);
      row.first = full;
    });
  }
}

/** The root of the complete subtree of 2^height leaves that is the `index`-th of its height. */
export function subtreeRoot(source: TileSource, size: number, height: number, index: number): Uint8Array {
  const level = Math.floor(height / levelsPerTile);
  const count = 2 ** (height % levelsPerTile);
  const first = index * count;
  const tile = Math.floor(first / tileWidth);
  const width = Math.min(tileWidth, hashesAt(level, size) - tile * tileWidth);
  const offset = first % tileWidth;
  const hashes = source.readTile(level, tile, width).subarray(offset * hashBytes, (offset + count) * hashBytes);
  return rootOfComplete(splitHashes(hashes, count));
}

function rootOfComplete(row: readonly Uint8Array[]): Uint8Array {
  let hashes = row;
  while (hashes.length > 1) {
    const above: Uint8Array[] = [];
    for (let at = 0; at < hashes.length; at += 2)
      above.push(nodeOf(hashes[at] as Uint8Array, hashes[at + 1] as Uint8Array));
    hashes = above;
  }
  return hashes[0] as Uint8Array;
}

function splitHashes(bytes: Uint8Array, count: number): Uint8Array[] {
  if (bytes.length < count * hashBytes)
    throw new Error(`a tile has ${bytes.length} bytes instead of ${count * hashBytes}`);
  // Copies: a view would keep the whole tile in memory.
  return Array.from({ length: count }, (_, at) => bytes.slice(at * hashBytes, (at + 1) * hashBytes));
}
