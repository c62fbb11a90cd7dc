import { createHash } from "node:crypto";
import { sha256 as plainSha256 } from "@noble/hashes/sha2.js";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isConsistent, isIncluded } from "../proofs/merkle.ts";
import { leafOf, MerkleTree, sha256, type Tile } from "./tree.ts";
import { proveConsistency, proveInclusion, rootAt } from "./tree-proofs.ts";

/** The definition in RFC 6962, section 2.1, word for word. */
function definedRoot(leaves: readonly Uint8Array[]): Uint8Array {
  const digest = (...parts: Uint8Array[]) => createHash("sha256").update(Buffer.concat(parts)).digest();
  if (leaves.length === 0) return digest();
  if (leaves.length === 1) return leaves[0] as Uint8Array;
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return digest(Buffer.of(1), definedRoot(leaves.slice(0, split)), definedRoot(leaves.slice(split)));
}

const leaves = Array.from({ length: 70_000 }, (_, index) => leafOf(Buffer.from(`entry ${index}`)));

function grow(size: number, tree = new MerkleTree()): MerkleTree {
  for (const leaf of leaves.slice(tree.size, size)) tree.append(leaf);
  return tree;
}

function tiled(size: number, tree = grow(size)) {
  return { size, source: sourceOf(tree.tilesSince(0)) };
}

function sourceOf(tiles: readonly Tile[]) {
  const kept = new Map(tiles.map((tile) => [`${tile.level}/${tile.index}`, tile]));
  return {
    readTile(level: number, index: number, width: number) {
      const tile = kept.get(`${level}/${index}`);
      if (tile === undefined || tile.width < width) throw new Error(`no tile ${level}/${index} of ${width}`);
      return tile.hashes;
    },
  };
}

function toText({ level, index, width, hashes }: Tile): string {
  return `${level}/${index}.${width} ${Buffer.from(sha256(hashes)).toString("hex")}`;
}

const big = tiled(70_000);

test("the root of a tree is the one that RFC 6962 defines", () => {
  for (let size = 0; size < 600; size++)
    expect(Buffer.from(grow(size).root()).equals(definedRoot(leaves.slice(0, size)))).toBe(true);
  expect(Buffer.from(rootAt(big, 70_000)).equals(definedRoot(leaves))).toBe(true);
});

test("a tree of 70,000 entries has the tiles that tlog-tiles names for it", () => {
  const tiles = grow(70_000).tilesSince(0);
  const widths = (level: number) => tiles.filter((tile) => tile.level === level).map(({ width }) => width);
  expect(widths(0)).toEqual([...Array.from({ length: 273 }, () => 256), 112]);
  expect(widths(1)).toEqual([256, 17]);
  expect(widths(2)).toEqual([1]);
});

test("a tree that resumes from tiles has the same root and the same next tiles", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1500 }), fc.integer({ min: 0, max: 600 }), (size, more) => {
      const resumed = grow(size + more, MerkleTree.resume(tiled(size).source, size));
      const whole = grow(size + more);
      expect(resumed.root()).toEqual(whole.root());
      const tiles = (tree: MerkleTree) => tree.tilesSince(size).map(toText);
      expect(tiles(resumed)).toEqual(tiles(whole));
      whole.release(size);
      expect(tiles(whole)).toEqual(tiles(resumed));
    }),
    { numRuns: 50 },
  );
});

const sizes = fc.oneof(fc.integer({ min: 1, max: 600 }), fc.integer({ min: 60_000, max: 70_000 }));

test("every proof of inclusion is accepted, and refused for another entry, index, size, root or path", () => {
  fc.assert(
    fc.property(sizes, fc.nat(), fc.nat(), (size, at, flipped) => {
      const index = at % size;
      const root = rootAt(big, size);
      const proof = proveInclusion(big, index, size);
      const leaf = leaves[index] as Uint8Array;
      expect(isIncluded(sha256, leaf, index, proof, { size, root })).toBe(true);
      expect(isIncluded(plainSha256, leaf, index, proof, { size, root })).toBe(true);
      const other = leaves[(index + 1) % leaves.length] as Uint8Array;
      expect(isIncluded(sha256, other, index, proof, { size, root })).toBe(false);
      expect(isIncluded(sha256, leaf, index + 1, proof, { size, root })).toBe(false);
      expect(isIncluded(sha256, leaf, index, [...proof, leaf], { size, root })).toBe(false);
      expect(isIncluded(sha256, leaf, index, proof, { size, root: other })).toBe(false);
      if (proof.length === 0) return;
      expect(isIncluded(sha256, leaf, index, proof.slice(1), { size, root })).toBe(false);
      const forged = proof.map((hash) => Uint8Array.from(hash));
      const hash = forged[flipped % forged.length] as Uint8Array;
      hash[flipped % 32] = (hash[flipped % 32] as number) ^ 1;
      expect(isIncluded(sha256, leaf, index, forged, { size, root })).toBe(false);
    }),
  );
});

test("every proof of consistency is accepted, and refused for another older tree", () => {
  fc.assert(
    fc.property(sizes, fc.nat(), fc.nat(), (size, at, flipped) => {
      const older = { size: at % (size + 1), root: rootAt(big, at % (size + 1)) };
      const newer = { size, root: rootAt(big, size) };
      const proof = proveConsistency(big, older.size, size);
      expect(isConsistent(sha256, older, newer, proof)).toBe(true);
      expect(isConsistent(sha256, older, newer, [...proof, newer.root])).toBe(false);
      expect(isConsistent(sha256, newer, older, proof)).toBe(older.size === size);
      if (older.size === 0) return;
      const forged = { size: older.size, root: Uint8Array.from(older.root) };
      forged.root[flipped % 32] = (forged.root[flipped % 32] as number) ^ 1;
      expect(isConsistent(sha256, forged, newer, proof)).toBe(false);
      if (proof.length > 0) expect(isConsistent(sha256, older, newer, proof.slice(1))).toBe(false);
    }),
  );
});

test("sizes and indexes that are not whole numbers of a tree are refused", () => {
  const tree = { size: 5, root: rootAt(big, 5) };
  for (const value of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    expect(isIncluded(sha256, leaves[0] as Uint8Array, value, [], tree)).toBe(false);
    expect(isConsistent(sha256, { ...tree, size: value }, tree, [])).toBe(false);
    expect(() => rootAt(tiled(5), value)).toThrow();
    expect(() => proveConsistency(tiled(5), value, 5)).toThrow();
  }
  expect(() => proveInclusion(tiled(5), 5, 5)).toThrow("has no entry 5");
  expect(() => rootAt(tiled(5), 6)).toThrow("the log has 5 entries, not 6");
});
