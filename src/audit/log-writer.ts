// Appends blocks to an audit log and signs checkpoints. A checkpoint is signed after the tiles below it are on the disk, so
// the log in the folder is never shorter than a checkpoint that was handed out.
import { isEqual } from "../proofs/base64.ts";
import { formatCheckpoint, openCheckpoint } from "../proofs/checkpoint-text.ts";
import type { NoteSigner } from "./note-key.ts";
import { formatBundle, type TileFolder, tilePath } from "./tiles.ts";
import { leafOf, MerkleTree, tileWidth } from "./tree.ts";
import { proveConsistency } from "./tree-proofs.ts";

interface SignedState {
  /** The signed note; "" before the first. */
  readonly note: string;
  readonly size: number;
}

export class LogWriter {
  readonly #folder: TileFolder;
  readonly #signer: NoteSigner;
  readonly #tree: MerkleTree;
  /** The blocks from the bundle of the last signed entry on. */
  #blocks: Uint8Array[];
  /** The index of the first of them, a multiple of 256. */
  #firstBlock: number;
  #signed: SignedState;
  #pendingBytes = 0;
  #writing: Promise<void> = Promise.resolve();

  /** Continues the log in the folder. Throws if its end does not match its checkpoint, or if another key signed it. */
  constructor(folder: TileFolder, signer: NoteSigner) {
    this.#folder = folder;
    this.#signer = signer;
    const note = folder.readCheckpoint() ?? "";
    const size = note === "" ? 0 : sizeOf(note, folder, signer);
    this.#signed = { note, size };
    this.#tree = MerkleTree.resume(folder, size);
    this.#firstBlock = size - (size % tileWidth);
    this.#blocks = size % tileWidth === 0 ? [] : folder.readBundle(this.#firstBlock / tileWidth, size % tileWidth);
    if (note === "") return;
    const root = openCheckpoint(note, signer.verify)?.root as Uint8Array;
    const hashes = this.#blocks.length === 0 ? "" : folder.readTile(0, this.#firstBlock / tileWidth, size % tileWidth);
    const leaves = Buffer.concat(this.#blocks.map(leafOf));
    if (!isEqual(this.#tree.root(), root) || !leaves.equals(Buffer.from(hashes).subarray(0, leaves.length)))
      throw new Error(`the audit log in ${folder.path} is damaged: "a2e audit verify" shows where`);
  }

  /** Entries that are in the tree, signed or not. */
  get size(): number {
    return this.#tree.size;
  }

  get signed(): SignedState {
    return this.#signed;
  }

  /** Bytes of blocks that are not in the folder yet. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  append(block: Uint8Array): void {
    this.#tree.append(leafOf(block));
    this.#blocks.push(block);
    this.#pendingBytes += block.length;
  }

  /** Writes and signs everything appended so far. A rejection leaves the blocks in memory: it may be called again. */
  sign(): Promise<void> {
    const next = this.#writing.then(() => this.#sign());
    // The next call does not fail because of this one.
    this.#writing = next.catch(() => {});
    return next;
  }

  async #sign(): Promise<void> {
    const { size } = this.#tree;
    const before = this.#signed.size;
    if (size === before && this.#signed.note !== "") return;
    // Everything is collected before the first wait: appending goes on meanwhile.
    const note = this.#signer.sign(formatCheckpoint({ origin: this.#signer.name, size, root: this.#tree.root() }));
    const pendingBytes = this.#pendingBytes;
    const tiles = this.#tree.tilesSince(before);
    const bundles = this.#bundles(size);
    const files = [
      ...tiles.map(({ level, index, width, hashes }) => ({ name: tilePath(level, index, width), bytes: hashes })),
      ...bundles.map(({ index, entries }) => ({
        name: tilePath("entries", index, entries.length),
        bytes: formatBundle(entries),
      })),
    ];
    await this.#folder.write(files);
    await this.#folder.write([{ name: "checkpoint", bytes: Buffer.from(note) }]);
    this.#signed = { note, size };
    this.#pendingBytes -= pendingBytes;
    this.#tree.release(size);
    const firstBlock = size - (size % tileWidth);
    this.#blocks.splice(0, firstBlock - this.#firstBlock);
    this.#firstBlock = firstBlock;
    for (const { level, index, width } of tiles) await this.#folder.removePartials(level, index, width);
    for (const { index, entries } of bundles) await this.#folder.removePartials("entries", index, entries.length);
  }

  /** The bundles that have changed since the last checkpoint. */
  #bundles(size: number): { index: number; entries: Uint8Array[] }[] {
    const bundles: { index: number; entries: Uint8Array[] }[] = [];
    for (let first = this.#firstBlock; first < size; first += tileWidth) {
      const from = first - this.#firstBlock;
      bundles.push({ index: first / tileWidth, entries: this.#blocks.slice(from, from + tileWidth) });
    }
    return bundles;
  }

  /** Shows that the newest checkpoint continues the log that had `older` entries. */
  proveConsistency(older: number): Uint8Array[] {
    const { size } = this.#signed;
    return proveConsistency({ size, source: this.#folder }, older, size);
  }

  /** Deletes the bundles below this index. Their hashes stay, so proofs that were made before remain valid. */
  async prune(minimum: number): Promise<void> {
    const from = Math.floor(this.#folder.readMinimum() / tileWidth);
    const to = Math.floor(Math.min(minimum, this.#signed.size) / tileWidth);
    if (to <= from) return;
    // First the minimum: a missing bundle below it is not damage.
    await this.#folder.write([{ name: "minimum", bytes: Buffer.from(`${to * tileWidth}\n`) }]);
    for (let index = from; index < to; index++) await this.#folder.removeBundle(index);
  }
}

function sizeOf(note: string, folder: TileFolder, signer: NoteSigner): number {
  const checkpoint = openCheckpoint(note, signer.verify);
  if (checkpoint === undefined || checkpoint.origin !== signer.name)
    throw new Error(
      `the checkpoint in ${folder.path} is not signed with the key of this log (${signer.verifierKey}): restore the key, or the folder, from a backup`,
    );
  return checkpoint.size;
}
