// The log of turns beside a database. Which epoch of it counts, and where that begins, stands in the database: the
// commit that brings its records into tables is the one that empties it.
import { randomInt } from "node:crypto";
import type { TurnLog, TurnLogOwner } from "../../host/ports/database.ts";
import type { SqliteDatabase, SqliteStatement } from "./sqlite.ts";
import { TurnLogFile } from "./turn-log-file.ts";

export const turnLogMigrations = [
  "CREATE TABLE turn_log (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL) STRICT",
  "ALTER TABLE turn_log ADD COLUMN start INTEGER NOT NULL DEFAULT 0",
];

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
  /** How much one half of the file takes. */
  logBytes: number | undefined;
  owner: TurnLogOwner;
  /** Something is appended: the turn must have an end. */
  onAppend(): void;
}

export class SqliteTurnLog implements TurnLog {
  readonly #owner: TurnLogOwner;
  readonly #onAppend: () => void;
  readonly #file: TurnLogFile;
  readonly #getEpoch: SqliteStatement;
  readonly #putEpoch: SqliteStatement;
  /** The turn that went over to this half of the file; the first commit of this process, as long as none has. */
  #turnedIn = Number.POSITIVE_INFINITY;
  /** Whether there is something in it that another process wrote. */
  #isInherited: boolean;
  #epoch: number;
  #next: NextEpoch | undefined;
  #appended: string[] = [];
  /**
   * Whether the log waits for the next commit to tables. So does the first turn of a process: what a crash left behind a
   * frame that is not whole must not seem to follow the next one that is.
   */
  #isWaiting = true;

  constructor(sqlite: SqliteDatabase, { path, logBytes, owner, onAppend }: SqliteTurnLogOptions) {
    this.#owner = owner;
    this.#onAppend = onAppend;
    this.#putEpoch = sqlite.prepare("INSERT OR REPLACE INTO turn_log (id, epoch, start) VALUES (1, ?, ?)");
    this.#getEpoch = sqlite.prepare("SELECT epoch, start FROM turn_log");
    const { id, start } = this.#readEpoch();
    this.#epoch = id;
    this.#file = new TurnLogFile(path, logBytes);
    try {
      const records = this.#file.read(id, start);
      this.#isInherited = records.length > 0;
      for (const record of records) owner.recover(record);
    } catch (error) {
      this.abandon();
      throw error;
    }
  }

  #readEpoch(): Epoch {
    const row = this.#getEpoch.get();
    return { id: Number(row?.epoch ?? 0), start: Number(row?.start ?? 0) };
  }

  /** Whether something is in it that is not in tables. */
  get isUsed(): boolean {
    return !this.#file.isEmpty || this.#isInherited;
  }

  get hasAppended(): boolean {
    return this.#appended.length > 0;
  }

  append(record: string): void {
    this.#onAppend();
    this.#appended.push(record);
  }

  /** Writes what this turn has appended. False where it has to go to tables: there is no room, or no writing. */
  write(): boolean {
    if (this.#isWaiting) return false;
    try {
      this.#isWaiting = !this.#file.write(this.#appended, this.#epoch);
    } catch {
      // Whatever it was, tables are the other way, and their error is the one to tell.
      this.#isWaiting = true;
    }
    return !this.#isWaiting;
  }

  /**
   * Within a transaction, that of this turn. Every commit begins an epoch, also where the log had nothing: what is logged
   * after it must not count without it. The other half of the file is written over once the commit that has left it is on
   * the disk, as all turns up to `synced` are: until then a power cut may bring back what it has.
   */
  fold(turn: number, synced: number): void {
    if (this.hasAppended || this.isUsed) this.#owner.fold();
    const isTurning = this.#file.isFull && this.#turnedIn <= synced;
    // Not the next number: a power cut may take the last commits, and their epochs must not come again.
    const id = randomInt(1, 2 ** 32);
    this.#next = { id, start: isTurning ? this.#file.otherHalf : this.#file.position, turn };
    this.#putEpoch.run(this.#next.id, this.#next.start);
  }

  /** Returns how it really ended. */
  ended(how: "logged" | "folded" | "lost"): "logged" | "folded" | "lost" {
    const next = this.#next;
    this.#next = undefined;
    this.#appended = [];
    const really = how === "lost" && next !== undefined ? this.#resolveLoss(next) : how;
    if (how === "folded" && next !== undefined) this.#begin(next);
    this.#owner.ended(really);
    return really;
  }

  #begin({ id, start, turn }: NextEpoch): void {
    this.#turnedIn = start === this.#file.position ? Math.min(this.#turnedIn, turn) : turn;
    this.#epoch = id;
    this.#file.begin(start);
    this.#isWaiting = this.#file.isFull;
    this.#isInherited = false;
  }

  /** A commit may fail after it took place. The database knows; until it has said so nothing more is written here. */
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

  /** Leaves nothing behind where everything is in tables, and those are sound. */
  close(isSound: boolean): void {
    this.#file.close(isSound && !this.isUsed);
  }

  /** Leaves everything as it is. */
  abandon(): void {
    this.#file.close(false);
  }
}
