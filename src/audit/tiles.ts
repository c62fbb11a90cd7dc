// The folder of an audit log in the layout of c2sp.org/tlog-tiles: `tile/<level>/<index>` has hashes, `tile/entries/<index>`
// has the entries themselves, `checkpoint` the signed size and root. A full tile never changes.
import { readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { parseCount } from "../proofs/checkpoint-text.ts";
import { hashBytes } from "../proofs/merkle.ts";
import { writeDurably } from "./durable-files.ts";
import { type TileSource, tileWidth } from "./tree.ts";

export const maxEntryBytes = 65_535;

/** Partial tiles of earlier checkpoints that are kept for readers who have just read such a checkpoint. */
const keptPartials = 2;
const maxCachedTiles = 64;

export type TileKind = number | "entries";

/** `tile/0/x001/x234/067`, and `….p/5` for a tile with 5 of its 256 hashes. */
export function tilePath(kind: TileKind, index: number, width: number): string {
  let name = String(index % 1000).padStart(3, "0");
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000))
    name = `x${String(rest % 1000).padStart(3, "0")}/${name}`;
  return `tile/${kind}/${name}${width === tileWidth ? "" : `.p/${width}`}`;
}

export class TileFolder implements TileSource {
  readonly path: string;
  /** Full tiles, which never change. */
  readonly #cache = new Map<string, Uint8Array>();

  constructor(path: string) {
    this.path = path;
  }

  readTile(level: number, index: number, width: number): Uint8Array {
    const full = tilePath(level, index, tileWidth);
    const cached = this.#cache.get(full);
    if (cached !== undefined) return cached;
    const hashes = this.#readFile(level, index, width);
    if (hashes.length < width * hashBytes)
      throw new Error(`${tilePath(level, index, width)} is shorter than its ${width} hashes`);
    if (width === tileWidth) {
      if (this.#cache.size >= maxCachedTiles) this.#cache.clear();
      this.#cache.set(full, hashes);
    }
    return hashes;
  }

  /** The first `width` entries of a bundle. */
  readBundle(index: number, width: number): Uint8Array[] {
    const { entries } = parseBundle(this.#readFile("entries", index, width));
    if (entries.length < width) throw new Error(`${tilePath("entries", index, width)} ends before its entry ${width}`);
    return entries.slice(0, width);
  }

  /** A partial tile may be gone once the full tile is there. */
  #readFile(kind: TileKind, index: number, width: number): Uint8Array {
    try {
      return readFileSync(join(this.path, tilePath(kind, index, width)));
    } catch (error) {
      if (width === tileWidth || !isMissing(error)) throw error;
      return readFileSync(join(this.path, tilePath(kind, index, tileWidth)));
    }
  }

  /** The signed note; undefined if there is none. */
  readCheckpoint(): string | undefined {
    return readText(join(this.path, "checkpoint"));
  }

  /** Entries below this index were deleted on purpose; their hashes are still there. */
  readMinimum(): number {
    const text = readText(join(this.path, "minimum"));
    if (text === undefined) return 0;
    const minimum = parseCount(text.trim());
    if (minimum === undefined) throw new Error(`${join(this.path, "minimum")} is not a number`);
    return minimum;
  }

  /** Writes tiles, bundles, the checkpoint or the minimum, by their path in this folder. */
  async write(files: readonly { readonly name: string; readonly bytes: Uint8Array }[]): Promise<void> {
    await writeDurably(files.map(({ name, bytes }) => ({ path: join(this.path, name), bytes })));
  }

  /** The widths of the partial tiles that are in the folder, ascending. */
  partialsOf(kind: TileKind, index: number): number[] {
    try {
      return readdirSync(join(this.path, `${tilePath(kind, index, tileWidth)}.p`))
        .flatMap((name) => parseCount(name) ?? [])
        .sort((one, other) => one - other);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  /** Deletes partial tiles that are no longer needed, now that the tile has this width. */
  async removePartials(kind: TileKind, index: number, width: number): Promise<void> {
    const full = join(this.path, tilePath(kind, index, tileWidth));
    if (width === tileWidth) return rm(`${full}.p`, { recursive: true, force: true });
    for (const old of this.partialsOf(kind, index).slice(0, -keptPartials)) await rm(join(`${full}.p`, String(old)));
  }

  async removeBundle(index: number): Promise<void> {
    await rm(join(this.path, tilePath("entries", index, tileWidth)), { force: true });
  }
}

/** Each entry with its length before it, in two bytes. */
export function formatBundle(entries: readonly Uint8Array[]): Buffer {
  const parts: Uint8Array[] = [];
  for (const entry of entries) {
    if (entry.length > maxEntryBytes)
      throw new Error(`an entry has ${entry.length} bytes; a bundle takes ${maxEntryBytes}`);
    parts.push(Buffer.of(entry.length >> 8, entry.length & 255), entry);
  }
  return Buffer.concat(parts);
}

/** The entries up to the end, or up to the first that is cut off: then `isWhole` is false. */
export function parseBundle(bytes: Uint8Array): { entries: Uint8Array[]; isWhole: boolean } {
  const entries: Uint8Array[] = [];
  let at = 0;
  while (at + 2 <= bytes.length) {
    const end = at + 2 + ((bytes[at] as number) << 8) + (bytes[at + 1] as number);
    if (end > bytes.length) break;
    entries.push(bytes.subarray(at + 2, end));
    at = end;
  }
  return { entries, isWhole: at === bytes.length };
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}
