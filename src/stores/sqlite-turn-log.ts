// The log of turns beside a database. Which epoch of it counts stands in the database: the commit that brings its
// records into tables is the one that empties it.
import { randomInt } from "node:crypto";
import type { TurnLog, TurnLogOwner } from "../host/database.ts";
import type { SqliteDatabase, SqliteStatement } from "./sqlite.ts";
import { TurnLogFile } from "./turn-log-file.ts";

export const turnLogMigrations = [
  "CREATE TABLE turn_log (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL) STRICT",
];

export interface SqliteTurnLogOptions {
  path: string;
  isSynced: boolean;
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
  /** Whether there is something in it that another process wrote. */
  #isInherited: boolean;
  #epoch: number;
  #nextEpoch: number | undefined;
  #appended: string[] = [];
  /**
   * Whether the log waits for the next commit to tables. So does the first turn of a process: what a crash left behind a
   * frame that is not whole must not seem to follow the next one that is.
   */
  #isWaiting = true;

  constructor(sqlite: SqliteDatabase, { path, isSynced, owner, onAppend }: SqliteTurnLogOptions) {
    this.#owner = owner;
    this.#onAppend = onAppend;
    this.#putEpoch = sqlite.prepare(
      "INSERT INTO turn_log (id, epoch) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch",
    );
    this.#getEpoch = sqlite.prepare("SELECT epoch FROM turn_log");
    this.#epoch = this.#readEpoch();
    this.#file = new TurnLogFile(path, isSynced);
    try {
      const records = this.#file.read(this.#epoch);
      this.#isInherited = records.length > 0;
      for (const record of records) owner.recall(record);
    } catch (error) {
      this.abandon();
      throw error;
    }
  }

  #readEpoch(): number {
    return Number(this.#getEpoch.get()?.epoch ?? 0);
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

  /** Within a transaction. */
  fold(): void {
    if (this.hasAppended || this.isUsed) this.#owner.fold();
    if (!this.#isWaiting && this.#file.isEmpty) return;
    // Not the next number: a power cut may take the last commits, and their epochs must not come again.
    this.#nextEpoch = randomInt(1, 2 ** 32);
    this.#putEpoch.run(this.#nextEpoch);
  }

  ended(how: "logged" | "folded" | "lost"): void {
    const nextEpoch = this.#nextEpoch;
    this.#nextEpoch = undefined;
    this.#appended = [];
    if (how === "lost" && nextEpoch !== undefined) return this.#owner.ended(this.#recover(nextEpoch));
    if (how === "folded" && nextEpoch !== undefined) this.#begin(nextEpoch);
    this.#owner.ended(how);
  }

  #begin(epoch: number): void {
    this.#epoch = epoch;
    this.#isWaiting = false;
    this.#isInherited = false;
    this.#file.empty();
  }

  /** A commit may fail after it took place. The database knows; until it has said so nothing more is written here. */
  #recover(nextEpoch: number): "folded" | "lost" {
    this.#isWaiting = true;
    try {
      if (this.#readEpoch() !== nextEpoch) return "lost";
    } catch {
      return "lost";
    }
    this.#begin(nextEpoch);
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
