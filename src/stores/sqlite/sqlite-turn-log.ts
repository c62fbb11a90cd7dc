// The log of turns beside a database. The current epoch of the log and its start are stored in the database: the commit
// that folds the records into tables also empties the log. Several owners share the log.
import { randomInt } from "node:crypto";
import type { TurnLog, TurnLogOwner } from "../../plugin/ports/database.ts";
import type { SqliteDatabase, SqliteStatement } from "./sqlite.ts";
import { TurnLogFile } from "./turn-log-file.ts";

export const turnLogMigrations = [
  "CREATE TABLE turn_log (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL) STRICT",
  "ALTER TABLE turn_log ADD COLUMN start INTEGER NOT NULL DEFAULT 0",
  "CREATE TABLE turn_log_unclaimed (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, record TEXT NOT NULL) STRICT",
];

/** Between the name of an owner and its record. */
const tagEnd = "\u001f";
/** Records without a name are of the only owner that earlier releases had. */
const firstOwner = "journal";

interface Epoch {
  /** Which no other has. */
  readonly id: number;
  /** In the file. */
  readonly start: number;
}

interface NextEpoch extends Epoch {
  /** The turn with whose commit it begins. */
  readonly turn: number;
}

export interface SqliteTurnLogOptions {
  path: string;
  /** The size of one half of the file. */
  logBytes: number | undefined;
  /** Called on each append, so that the turn gets an end. */
  onAppend(): void;
}

export class SqliteTurnLog {
  readonly #owners: TurnLogOwner[] = [];
  /** Records in the log whose owner has not opened it, by its name. */
  readonly #unclaimed = new Map<string, string[]>();
  readonly #onAppend: () => void;
  readonly #file: TurnLogFile;
  readonly #getEpoch: SqliteStatement;
  readonly #putEpoch: SqliteStatement;
  readonly #unclaimedRows: UnclaimedRows;
  /** The turn that moved to this half of the file; until then the first commit of this process. */
  #turnedIn = Number.POSITIVE_INFINITY;
  /** Whether the log has records that an earlier process wrote. */
  #isInherited: boolean;
  #epoch: number;
  #next: NextEpoch | undefined;
  #appended: string[] = [];
  /**
   * Whether the log can be used again only after the next commit to tables. This also holds for the first turn of a
   * process: records behind a torn frame must not seem to follow the next whole frame.
   */
  #isWaiting = true;

  constructor(sqlite: SqliteDatabase, { path, logBytes, onAppend }: SqliteTurnLogOptions) {
    this.#onAppend = onAppend;
    this.#putEpoch = sqlite.prepare("INSERT OR REPLACE INTO turn_log (id, epoch, start) VALUES (1, ?, ?)");
    this.#getEpoch = sqlite.prepare("SELECT epoch, start FROM turn_log");
    this.#unclaimedRows = new UnclaimedRows(sqlite);
    const { id, start } = this.#readEpoch();
    this.#epoch = id;
    this.#file = new TurnLogFile(path, logBytes);
    try {
      const records = this.#file.read(id, start);
      this.#isInherited = records.length > 0;
      for (const text of records) this.#addUnclaimed(text);
    } catch (error) {
      this.abandon();
      throw error;
    }
  }

  #addUnclaimed(text: string): void {
    const end = text.indexOf(tagEnd);
    const owner = end < 0 ? firstOwner : text.slice(0, end);
    const records = this.#unclaimed.get(owner) ?? [];
    this.#unclaimed.set(owner, records);
    records.push(text.slice(end + 1));
  }

  /** Hands the owner its records. Until it is opened, they are kept for it, also if the log is folded. */
  open(owner: TurnLogOwner): TurnLog {
    const { name } = owner;
    if (this.#owners.some((other) => other.name === name)) throw new Error(`the log of turns has an owner "${name}"`);
    const rows = this.#unclaimedRows.of(name);
    for (const record of [...rows, ...(this.#unclaimed.get(name) ?? [])]) owner.recover(record);
    this.#unclaimed.delete(name);
    if (rows.length > 0) this.#isInherited = true;
    this.#owners.push(owner);
    const tag = name + tagEnd;
    return {
      append: (record) => {
        this.#onAppend();
        this.#appended.push(tag + record);
      },
    };
  }

  #readEpoch(): Epoch {
    const row = this.#getEpoch.get();
    return { id: Number(row?.epoch ?? 0), start: Number(row?.start ?? 0) };
  }

  /** Whether the log has records that are not in tables. */
  get isUsed(): boolean {
    return !this.#file.isEmpty || this.#isInherited;
  }

  get hasAppended(): boolean {
    return this.#appended.length > 0;
  }

  /**
   * Writes the records appended in this turn. Returns false if the turn has to go to tables, because there is no room
   * or the write failed.
   */
  write(): boolean {
    if (this.#isWaiting) return false;
    try {
      this.#isWaiting = !this.#file.write(this.#appended, this.#epoch);
    } catch {
      // The turn is committed to tables instead. If that fails too, its error is the one to report.
      this.#isWaiting = true;
    }
    return !this.#isWaiting;
  }

  /**
   * Runs within the transaction of this turn. Every commit begins an epoch, even with an empty log: records logged
   * after the commit must not count without it. The other half of the file may be overwritten once the commit that
   * left it is on the disk, i.e. its turn is at most `synced`: until then a power cut may make its records current
   * again.
   */
  fold(turn: number, synced: number): void {
    if (this.hasAppended || this.isUsed) this.#foldRecords();
    const isTurning = this.#file.isFull && this.#turnedIn <= synced;
    // Not the next number: a power cut may take the last commits, and their epochs must not come again.
    const id = randomInt(1, 2 ** 32);
    this.#next = { id, start: isTurning ? this.#file.otherHalf : this.#file.position, turn };
    this.#putEpoch.run(this.#next.id, this.#next.start);
  }

  #foldRecords(): void {
    for (const owner of this.#owners) {
      owner.fold();
      if (this.#isInherited) this.#unclaimedRows.delete(owner.name);
    }
    if (!this.#isInherited) return;
    for (const [owner, records] of this.#unclaimed) this.#unclaimedRows.add(owner, records);
  }

  /** Returns how it really ended. */
  ended(how: "logged" | "folded" | "lost"): "logged" | "folded" | "lost" {
    const next = this.#next;
    this.#next = undefined;
    this.#appended = [];
    const really = how === "lost" && next !== undefined ? this.#resolveLoss(next) : how;
    if (how === "folded" && next !== undefined) this.#begin(next);
    for (const owner of this.#owners) owner.ended(really);
    return really;
  }

  #begin({ id, start, turn }: NextEpoch): void {
    this.#turnedIn = start === this.#file.position ? Math.min(this.#turnedIn, turn) : turn;
    this.#epoch = id;
    this.#file.begin(start);
    this.#isWaiting = this.#file.isFull;
    this.#isInherited = false;
    this.#unclaimed.clear();
  }

  /** A commit may throw after it took place. The epoch in the database shows it; until then nothing more is logged. */
  #resolveLoss(next: NextEpoch): "folded" | "lost" {
    this.#isWaiting = true;
    try {
      if (this.#readEpoch().id !== next.id) return "lost";
    } catch {
      return "lost";
    }
    this.#begin(next);
    return "folded";
  }

  /** Removes the file if all records are in tables and those are synced. */
  close(isSound: boolean): void {
    this.#file.close(isSound && !this.isUsed);
  }

  /** Leaves everything as it is. */
  abandon(): void {
    this.#file.close(false);
  }
}

/** Records that had to leave the log before their owner opened it, for example because the audit log was turned off. */
class UnclaimedRows {
  readonly #insert: SqliteStatement;
  readonly #select: SqliteStatement;
  readonly #delete: SqliteStatement;

  constructor(sqlite: SqliteDatabase) {
    this.#insert = sqlite.prepare("INSERT INTO turn_log_unclaimed (owner, record) VALUES (?, ?)");
    this.#select = sqlite.prepare("SELECT record FROM turn_log_unclaimed WHERE owner = ? ORDER BY id");
    this.#delete = sqlite.prepare("DELETE FROM turn_log_unclaimed WHERE owner = ?");
  }

  of(owner: string): string[] {
    return this.#select.all(owner).map(({ record }) => String(record));
  }

  add(owner: string, records: readonly string[]): void {
    for (const record of records) this.#insert.run(owner, record);
  }

  delete(owner: string): void {
    this.#delete.run(owner);
  }
}
