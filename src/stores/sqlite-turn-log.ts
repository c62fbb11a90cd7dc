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
  readonly records: readonly string[];
  readonly #owner: TurnLogOwner;
  readonly #onAppend: () => void;
  readonly #file: TurnLogFile;
  readonly #putEpoch: SqliteStatement;
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
    this.#epoch = Number(sqlite.prepare("SELECT epoch FROM turn_log").get()?.epoch ?? 0);
    this.#file = new TurnLogFile(path, isSynced);
    this.records = this.#file.read(this.#epoch);
  }

  /** Whether something is in it that is not in tables. */
  get isUsed(): boolean {
    return !this.#file.isEmpty || (this.#isWaiting && this.records.length > 0);
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
    this.#appended = [];
    if (how === "folded" && this.#nextEpoch !== undefined) {
      this.#epoch = this.#nextEpoch;
      this.#isWaiting = false;
      this.#file.empty();
    }
    this.#nextEpoch = undefined;
    this.#owner.ended(how);
  }

  /** Leaves nothing behind where everything is in tables, and those are sound. */
  close(isSound: boolean): void {
    this.#file.close(isSound && !this.isUsed);
  }
}
