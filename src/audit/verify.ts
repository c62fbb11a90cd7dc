// Verifies a whole audit log: hashes every entry and every tile again, and compares the result with the signed checkpoint
// and with checkpoints that were kept elsewhere. It needs the folder and the public key only.
import { isEqual } from "../proofs/base64.ts";
import { type Checkpoint, openCheckpoint } from "../proofs/checkpoint-text.ts";
import type { VerifySignature } from "../proofs/note.ts";
import { countLines, parseRemark, type Remark, readBlockTime } from "./audit-block.ts";
import { TileFolder } from "./tiles.ts";
import { MerkleTree, tileWidth } from "./tree.ts";
import { type Damage, DamageFound, VerifiedTiles } from "./verified-tiles.ts";

export interface LogReport {
  /** Entries of the log (blocks) up to the end or the damage, and audit lines in them. */
  readonly size: number;
  readonly lines: number;
  /** Entries below this index were pruned. */
  readonly minimum: number;
  readonly damage?: Damage;
  /** The size of the newest given checkpoint that the log continues. Absent without one: the log is not anchored. */
  readonly anchoredAt?: number;
  /** What the log says about itself, such as losses after a power cut. */
  readonly remarks: readonly Remark[];
}

/** Does not throw for a damaged log: the first damage is in the report. `anchors` are signed notes. */
export function verifyLog(path: string, verify: VerifySignature, anchors: readonly string[] = []): LogReport {
  const walk = new LogWalk(new TileFolder(path), verify);
  try {
    const anchoredAt = walk.run(anchors);
    return { ...walk.progress(), ...(anchoredAt === undefined ? {} : { anchoredAt }) };
  } catch (error) {
    const damage = error instanceof DamageFound ? error.damage : { what: (error as Error).message };
    return { ...walk.progress(), damage };
  }
}

class LogWalk {
  readonly #folder: TileFolder;
  readonly #tiles: VerifiedTiles;
  readonly #verify: VerifySignature;
  readonly #tree = new MerkleTree();
  readonly #remarks: Remark[] = [];
  #lines = 0;
  #minimum = 0;
  /** The last entry that was read without damage. */
  #last: Uint8Array | undefined;

  constructor(folder: TileFolder, verify: VerifySignature) {
    this.#folder = folder;
    this.#tiles = new VerifiedTiles(folder);
    this.#verify = verify;
  }

  progress(): LogReport {
    return { size: this.#tree.size, lines: this.#lines, minimum: this.#minimum, remarks: this.#remarks };
  }

  /** Returns the size of the newest anchor. */
  run(notes: readonly string[]): number | undefined {
    const anchors = notes.map((note) => this.#open(note, "the given checkpoint"));
    const checkpoint = this.#open(this.#folder.readCheckpoint(), "the checkpoint of the log");
    this.#minimum = this.#folder.readMinimum();
    for (const anchor of anchors) checkAnchor(anchor, checkpoint);
    const heads = [...anchors, checkpoint].sort((one, other) => one.size - other.size);
    for (let index = 0; index * tileWidth < checkpoint.size; index++) this.#readBundle(index, checkpoint, heads);
    this.#checkHeads(heads, checkpoint);
    this.#checkMinimum();
    return anchors.length === 0 ? undefined : Math.max(...anchors.map(({ size }) => size));
  }

  #open(note: string | undefined, what: string): Checkpoint {
    if (note === undefined) throw new DamageFound({ what: `${what} is missing` });
    const checkpoint = openCheckpoint(note, this.#verify);
    if (checkpoint === undefined) throw new DamageFound({ what: `${what} is not signed with the key of this log` });
    return checkpoint;
  }

  #readBundle(index: number, checkpoint: Checkpoint, heads: Checkpoint[]): void {
    const first = index * tileWidth;
    const width = Math.min(tileWidth, checkpoint.size - first);
    const isPruned = first + width <= this.#minimum;
    try {
      for (const { leaf, entry } of this.#tiles.readLeaves(index, width, isPruned)) {
        this.#checkHeads(heads, checkpoint);
        this.#tree.append(leaf);
        if (entry !== undefined) this.#readEntry(entry);
      }
      this.#tiles.checkAbove(this.#tree.tilesSince(first).filter((tile) => tile.width === tileWidth));
      if (first + width === checkpoint.size) this.#tiles.checkAbove(this.#tree.partialTiles());
    } catch (error) {
      throw error instanceof DamageFound ? new DamageFound({ ...this.#time(), ...error.damage }) : error;
    }
    this.#tree.release(first + width);
  }

  #readEntry(entry: Uint8Array): void {
    this.#last = entry;
    this.#lines += countLines(entry);
    const remark = parseRemark(entry);
    if (remark !== undefined) this.#remarks.push(remark);
  }

  #time(): { time?: number } {
    const time = this.#last === undefined ? undefined : readBlockTime(this.#last);
    return time === undefined ? {} : { time };
  }

  /** Compares the root with the checkpoints of this size. */
  #checkHeads(heads: Checkpoint[], own: Checkpoint): void {
    while (heads[0]?.size === this.#tree.size) {
      const head = heads.shift() as Checkpoint;
      if (isEqual(head.root, this.#tree.root())) continue;
      const what =
        head === own
          ? "the entries and tiles match each other, but not the signed checkpoint: they were written by another program"
          : `the first ${head.size} entries are not those of the given checkpoint: the log was rewritten`;
      throw new DamageFound({ what });
    }
  }

  /** Any program can delete old entries and raise the number in the file; only the log can write the remark. */
  #checkMinimum(): void {
    const announced = this.#remarks.map((remark) => (remark.audit === "pruned" ? remark.minimum : 0));
    if (this.#minimum > Math.max(0, ...announced)) {
      const what = `the entries below ${this.#minimum} are missing, and the log does not say that they were pruned`;
      throw new DamageFound({ index: 0, what });
    }
  }
}

function checkAnchor({ origin, size }: Checkpoint, log: Checkpoint): void {
  if (origin !== log.origin) throw new DamageFound({ what: `the given checkpoint is of another log, ${origin}` });
  if (size <= log.size) return;
  const what = `the log ends after ${log.size} entries, but ${size} were signed: the last ${size - log.size} are missing`;
  throw new DamageFound({ index: log.size, what });
}
