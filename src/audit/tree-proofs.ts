// Makes the proofs of RFC 6962 from tiles. Checking them is in src/proofs, since agents do that too.
import { hashNode } from "../proofs/merkle.ts";
import { sha256, subtreeRoot, type TileSource } from "./tree.ts";

/** The tiles of a tree with `size` entries. */
export interface TiledTree {
  readonly size: number;
  readonly source: TileSource;
}

/** The root that the tree had when it had `size` entries. */
export function rootAt(tree: TiledTree, size: number): Uint8Array {
  checkSize(tree, size);
  return size === 0 ? sha256(new Uint8Array(0)) : rangeRoot(tree, 0, size);
}

/** The path of an entry in the tree as it was with `size` entries. */
export function proveInclusion(tree: TiledTree, index: number, size: number): Uint8Array[] {
  checkSize(tree, size);
  if (index < 0 || index >= size) throw new Error(`a log of ${size} entries has no entry ${index}`);
  const path: Uint8Array[] = [];
  let [from, to] = [0, size];
  while (to - from > 1) {
    const middle = from + largestPowerBelow(to - from);
    if (index < middle) {
      path.push(rangeRoot(tree, middle, to));
      to = middle;
    } else {
      path.push(rangeRoot(tree, from, middle));
      from = middle;
    }
  }
  return path.reverse();
}

/** Shows that the tree with `newer` entries begins with the tree that had `older` entries. */
export function proveConsistency(tree: TiledTree, older: number, newer: number): Uint8Array[] {
  checkSize(tree, newer);
  if (older < 0 || older > newer) throw new Error(`a log of ${newer} entries does not begin with ${older} entries`);
  if (older === 0 || older === newer) return [];
  const path: Uint8Array[] = [];
  let [from, to] = [0, newer];
  /** Whether the subtree is also a subtree of the older tree that its reader can derive from the older root. */
  let isKnown = true;
  while (older !== to) {
    const middle = from + largestPowerBelow(to - from);
    if (older <= middle) {
      path.push(rangeRoot(tree, middle, to));
      to = middle;
    } else {
      path.push(rangeRoot(tree, from, middle));
      from = middle;
      isKnown = false;
    }
  }
  if (!isKnown) path.push(rangeRoot(tree, from, to));
  return path.reverse();
}

/** The root of the entries from `from` up to `to`, which begin at a multiple of a power of two. */
function rangeRoot(tree: TiledTree, from: number, to: number): Uint8Array {
  const count = to - from;
  const height = Math.log2(count);
  if (Number.isInteger(height) && from % count === 0) return subtreeRoot(tree.source, tree.size, height, from / count);
  const middle = from + largestPowerBelow(count);
  return hashNode(sha256, rangeRoot(tree, from, middle), rangeRoot(tree, middle, to));
}

/** The largest power of two that is smaller than the number. */
function largestPowerBelow(count: number): number {
  let power = 1;
  while (power * 2 < count) power *= 2;
  return power;
}

function checkSize(tree: TiledTree, size: number): void {
  if (!Number.isSafeInteger(size) || size < 0 || size > tree.size)
    throw new Error(`the log has ${tree.size} entries, not ${size}`);
}
