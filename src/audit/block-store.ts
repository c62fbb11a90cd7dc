// Makes the blocks of a turn durable together with the turn: in the log of turns, or as rows if the database has only
// tables. A block is deleted from the database once it is in the folder of the audit log.
import type { Database, SqlStatement, TurnLog } from "../plugin/ports/database.ts";

interface StoredBlock {
  readonly index: number;
  readonly block: Buffer;
}

const migrations = [
  `CREATE TABLE audit_block (position INTEGER PRIMARY KEY, block BLOB NOT NULL) STRICT;
   CREATE TABLE audit_next (id INTEGER PRIMARY KEY CHECK (id = 1), position INTEGER NOT NULL) STRICT`,
];

export class BlockStore {
  readonly #database: Database;
  readonly #log: TurnLog | undefined;
  readonly #insert: SqlStatement;
  readonly #select: SqlStatement;
  readonly #delete: SqlStatement;
  readonly #putNext: SqlStatement;
  /** The index of the next block, as far as turns have ended. */
  #next = 0;
  /** Blocks below this index are in the folder. */
  #inFolder = 0;
  /** Blocks that are in the log of turns and not in tables. */
  #unfolded: StoredBlock[] = [];
  /** Blocks of this turn. */
  #fresh: StoredBlock[] = [];

  /** `onLost` is called at once if the open turn is lost; `afterCommit` may report it later. */
  constructor(database: Database, onLost: () => void) {
    this.#database = database;
    database.migrate("audit", migrations);
    this.#insert = database.prepare("INSERT OR REPLACE INTO audit_block (position, block) VALUES (?, ?)");
    this.#select = database.prepare("SELECT position, block FROM audit_block WHERE position >= ? ORDER BY position");
    this.#delete = database.prepare("DELETE FROM audit_block WHERE position < ?");
    this.#putNext = database.prepare("INSERT OR REPLACE INTO audit_next (id, position) VALUES (1, ?)");
    this.#next = Number(database.prepare("SELECT position FROM audit_next").get()?.position ?? 0);
    this.#log = database.openLog?.({
      name: "audit",
      recover: (record) => this.#recover(record),
      fold: () => this.#fold(),
      ended: (how) => {
        this.#turnEnded(how);
        if (how === "lost") onLost();
      },
    });
  }

  #recover(record: string): void {
    const end = record.indexOf("\n");
    const index = Number(record.slice(0, end));
    this.#unfolded.push({ index, block: Buffer.from(record.slice(end + 1), "latin1") });
    this.#next = Math.max(this.#next, index + 1);
  }

  /** The index of the next block: every block below it was part of a durable turn. */
  get next(): number {
    return this.#next + this.#fresh.length;
  }

  /** The blocks from this index on, oldest first. */
  blocksFrom(index: number): Buffer[] {
    const rows = this.#select.all(index).map((row) => ({
      index: Number(row.position),
      block: Buffer.from(row.block as Uint8Array),
    }));
    const blocks = [...rows, ...this.#unfolded.filter((stored) => stored.index >= index)];
    blocks.forEach((stored, at) => {
      if (stored.index !== index + at) throw new Error(`the database has no audit block ${index + at}`);
    });
    return blocks.map(({ block }) => block);
  }

  /** Begins again at this index, without the blocks that the database has. Called before the first `add`. */
  restart(index: number): void {
    this.#next = index;
    this.#unfolded = [];
    this.#database.write(() => {
      this.#delete.run(Number.MAX_SAFE_INTEGER);
      this.#putNext.run(index);
    });
  }

  /** Adds a block to this turn. If it throws, the turn must not be committed. */
  add(block: Buffer): void {
    const stored = { index: this.next, block };
    if (this.#log !== undefined) this.#log.append(`${stored.index}\n${block.toString("latin1")}`);
    else {
      this.#database.write(() => this.#writeRows([stored], stored.index + 1));
      this.#database.afterCommit((error) => this.#rowEnded(stored, error === undefined));
    }
    this.#fresh.push(stored);
  }

  #rowEnded(stored: StoredBlock, isDurable: boolean): void {
    this.#fresh = this.#fresh.filter((other) => other !== stored);
    if (isDurable) this.#next += 1;
  }

  #fold(): void {
    this.#writeRows([...this.#unfolded, ...this.#fresh], this.next);
  }

  #writeRows(blocks: readonly StoredBlock[], next: number): void {
    this.#delete.run(this.#inFolder);
    for (const { index, block } of blocks) if (index >= this.#inFolder) this.#insert.run(index, block);
    this.#putNext.run(next);
  }

  #turnEnded(how: "logged" | "folded" | "lost"): void {
    if (how !== "lost") this.#next += this.#fresh.length;
    if (how === "logged") this.#unfolded.push(...this.#fresh);
    if (how === "folded") this.#unfolded = [];
    this.#fresh = [];
  }

  /** Blocks below this index are in the folder: they are deleted from the database with one of the next turns. */
  release(index: number): void {
    this.#inFolder = index;
    const kept = this.#unfolded.findIndex((stored) => stored.index >= index);
    this.#unfolded = kept < 0 ? [] : this.#unfolded.slice(kept);
  }
}
