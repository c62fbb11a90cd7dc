// Checks the proofs of a Merkle tree as in RFC 6962. Pure functions without I/O: they run in Node and in browsers. The
// proofs are made in src/audit.
import { isEqual } from "./base64.ts";

/** SHA-256: that of Node on the host, that of `@noble/hashes` in a client. */
export type Hash = (bytes: Uint8Array) => Uint8Array;

export const hashBytes = 32;

/** A leaf and a node begin with different bytes, so a node cannot be passed off as an entry. */
export function hashLeaf(hash: Hash, entry: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(1 + entry.length);
  bytes.set(entry, 1);
  return hash(bytes);
}

export function hashNode(hash: Hash, left: Uint8Array, right: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(1 + left.length + right.length);
  bytes[0] = 1;
  bytes.set(left, 1);
  bytes.set(right, 1 + left.length);
  return hash(bytes);
}

/** A tree by its number of entries and its root. */
export interface TreeHead {
  readonly size: number;
  readonly root: Uint8Array;
}

/** Whether the entry with this leaf hash is in the tree under `index`. */
export function isIncluded(
  hash: Hash,
  leaf: Uint8Array,
  index: number,
  proof: readonly Uint8Array[],
  tree: TreeHead,
): boolean {
  if (!isCount(index) || !isCount(tree.size) || index >= tree.size) return false;
  let [node, last, root] = [index, tree.size - 1, leaf];
  for (const sibling of proof) {
    if (last === 0 || sibling.length !== hashBytes) return false;
    if (node % 2 === 1 || node === last) {
      root = hashNode(hash, sibling, root);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, half(last)];
    } else {
      root = hashNode(hash, root, sibling);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && isEqual(root, tree.root);
}

/** Whether the newer tree begins with all entries of the older tree, unchanged and in the same order. */
export function isConsistent(hash: Hash, older: TreeHead, newer: TreeHead, proof: readonly Uint8Array[]): boolean {
  if (!isCount(older.size) || !isCount(newer.size) || older.size > newer.size) return false;
  if (proof.some((node) => node.length !== hashBytes)) return false;
  // Every tree begins with the empty one.
  if (older.size === 0) return proof.length === 0;
  if (older.size === newer.size) return proof.length === 0 && isEqual(older.root, newer.root);
  let [node, last] = [older.size - 1, newer.size - 1];
  while (node % 2 === 1) [node, last] = [half(node), half(last)];
  // If the older tree is complete, its root is the first node and is not repeated in the proof.
  const [first, ...rest] = node === 0 ? [older.root, ...proof] : proof;
  if (first === undefined) return false;
  let [olderRoot, newerRoot] = [first, first];
  for (const sibling of rest) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      olderRoot = hashNode(hash, sibling, olderRoot);
      newerRoot = hashNode(hash, sibling, newerRoot);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, half(last)];
    } else {
      newerRoot = hashNode(hash, newerRoot, sibling);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && isEqual(olderRoot, older.root) && isEqual(newerRoot, newer.root);
}

/** Numbers of entries can exceed 32 bits, so bit operations are not used. */
function half(value: number): number {
  return Math.floor(value / 2);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
